from __future__ import annotations

import time
from pathlib import PurePosixPath

import pytest

from shiro_jupyter.core.policy.names import SECRET_NAMES, is_secret_name, is_steering_name


@pytest.mark.parametrize(
    "name",
    [
        *(".env", "conf/.env.local", ".ENV", "prod.env", ".env_x", ".env-x", ".envrc", ".env "),
        *(".ssh/id_rsa", ".ssh/known_hosts", "k/server.pem", "k/server.pem ", "a/id_ed25519_sk"),
        *(".env~", ".npmrc.bak", "#.env#", ".#.env", ".id_rsa.swp", "server.key.old"),
        *(
            ".git-credentials",
            "credentials",
            ".netrc",
            "secrets.yaml",
            ".aws/config",
            "kaggle.json",
        ),
        *("terraform.tfstate.backup", "x.tfvars.json", ".git/modules/a/b/config", "id_rsa.backup"),
        *(".git/worktrees/w/config.worktree", "AuthKey.p8", "x.kdbx", "kubeconfig", "token.json"),
        *("x-firebase-adminsdk-1.json", "my-service-account-1.json", "auth.json", "rclone.conf"),
        *(".jupyter/jupyter_server_config.json", "share/jupyter/runtime/kernel-1.json"),
        *(" .env", "a/ .env", ".env\n", ".env \n", "\t.netrc", ".secrets", ".secrets/a"),
        *("secrets.ini", "credentials.yml", "credentials.toml", "credentials.csv"),
        *(".cargo/credentials.toml", ".cargo/credentials", ".git/config", "sub/.git/config"),
        *("application_default_credentials.json", ".huggingface/token", ".azure/x"),
        *(".cache/huggingface/token", ".snowflake/connections.toml", ".dbt/profiles.yml"),
        *("terraform.tfstate", "terraform.tfstate.bak", "prod.tfvars", ".config/gh/hosts.yml"),
        *("client_secret_12.apps.json", "service-account.json", "/home/x/.pypirc"),
        *("/home/x/.config/gcloud/legacy", "/home/x/.docker/config.json", ".kube/config"),
    ],
)
def test_names_of_files_that_hold_keys(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_name(PurePosixPath("deep") / name.lstrip("/"))


@pytest.mark.parametrize("name", [name for name in SECRET_NAMES if not set("*[") & set(name)])
def test_each_name_of_the_list_is_found_in_any_folder_and_case(name: str) -> None:
    for form in (name, f"a/{name}", name.upper(), f"{name}/below", f"{name}.bak"):
        assert is_secret_name(form), form


@pytest.mark.parametrize(
    "name",
    [
        *("environment.yml", "a.envelope", "my.environ.py", "pem.txt", "env", "env/bin/python"),
        *(
            "keys.csv",
            "keyboard.py",
            "secretary.csv",
            "secrets.py",
            "data/credentials.md",
            "x.keys",
        ),
        *("awsome/x", "ssh/config", "id_rsa.pub", "docker/config.json", "service_account.py", ""),
        *("git/config", "token", "data/token", "profiles.yml", "hosts.yml", "credentials.py"),
        *("secrets", "tfvars", "main.tf", ".gitignore", "azure/x"),
    ],
)
def test_names_that_only_look_alike(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(".git/hooks/pre-commit", "sub/.git", ".shiro/config.toml", ".vscode/tasks.json"),
        *(".gitattributes", ".gitmodules", ".gitconfig", ".husky/pre-commit", ".idea/x"),
        *(".pre-commit-config.yaml", ".github/workflows/x.yml", ".gitlab-ci.yml", ".mcp.json"),
        *(".claude/settings.json", ".cursor/rules", ".devcontainer/devcontainer.json"),
        *(".cargo/config.toml", ".yarnrc", ".yarnrc.yml", ".bashrc", ".bash_profile", ".profile"),
        *(".zshrc", "sitecustomize.py", "lib/usercustomize.py", "x.pth", ".jupyter/x"),
        *(".ipython/profile_default/startup/x.py", "jupyter_config.py", "ipython_config.py"),
        *("jupyter_notebook_config.json", "jupyter_server_config.py", ".git\n", ".vimrc"),
    ],
)
def test_files_that_steer_other_programs(name: str) -> None:
    assert is_steering_name(name) and is_steering_name(name.upper())
    assert is_steering_name(f"deep/{name}")


@pytest.mark.parametrize(
    "name",
    [
        *(".gitignore", ".shiro/notes/a.md", "git/x", "config.toml", "conftest.py", "Makefile"),
        *("pyproject.toml", "setup.py", "package.json", "x.pt", "github/x", "bashrc", "README.md"),
        *("cursor/x", "jupyter.py", "tox.ini", "model.pth.py"),
    ],
)
def test_ordinary_files_steer_nothing(name: str) -> None:
    assert not is_steering_name(name)


def test_a_long_name_is_judged_in_time() -> None:
    began = time.process_time()
    for piece in (".env", "a", "/", "#.", " ", "/ ", "x.key", "x.pth"):
        is_secret_name(piece * 20_000)
        is_steering_name(piece * 20_000)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "name",
    [
        *("sub/config", "sub/HEAD", "x.git/hooks/a", ".config/git/attributes", "lefthook.yml"),
        *(".gdbinit", ".mvn/jvm.config", "jupyter_server_config.d/a.json", "CLAUDE.md", ".roo/a"),
        *("sitecustomize/__init__.py", ".cursorrules", ".overcommit.yml", ".bazelrc", ".emacs"),
    ],
)
def test_what_steers_other_programs_is_known(name: str) -> None:
    assert is_steering_name(name)


@pytest.mark.parametrize(
    "name", ["config/train.yaml", "head/a.py", "config.py", "models/heads.py", "claude.py"]
)
def test_what_steers_none_is_left_alone(name: str) -> None:
    assert not is_steering_name(name)
