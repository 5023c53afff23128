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
    ],
)
def test_names_that_only_look_alike(name: str) -> None:
    assert not is_secret_name(name)


def test_files_that_steer_other_programs() -> None:
    for name in (".git/hooks/pre-commit", "sub/.git", ".shiro/config.toml", ".vscode/tasks.json"):
        assert is_steering_name(name) and is_steering_name(name.upper())
    for name in (".gitignore", ".shiro/notes/a.md", "git/x", "config.toml"):
        assert not is_steering_name(name)


def test_a_long_name_is_judged_in_time() -> None:
    began = time.process_time()
    for piece in (".env", "a", "/", "#.", " ", "x.key"):
        is_secret_name(piece * 20_000)
    assert time.process_time() - began < 1
