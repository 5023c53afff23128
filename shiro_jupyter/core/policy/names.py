"""Names: of files that hold keys, of files that steer other programs, and of commands in a list."""

from __future__ import annotations

import re
from pathlib import PurePath

# Files, and folders with all that is below them, which usually hold keys.
SECRET_NAMES = (
    *(".env", ".envrc", ".env[._~ -]*", ".envrc[._~ -]*", "*.env", ".Renviron"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".npmrc", ".htpasswd", ".vault-token"),
    *(".git-credentials", ".git/config", "credentials", "client_secret*.json"),
    *("credentials.json", "credentials.yaml", "credentials.yml", "credentials.toml"),
    *("credentials.csv", "credentials.ini", "application_default_credentials.json"),
    *("kaggle.json", ".databrickscfg", ".boto", ".s3cfg"),
    *(".secrets", "secret.yaml", "secret.yml", "secret.json", "secret.toml", "secret.ini"),
    *("secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml", "secrets.ini"),
    *("huggingface/token", "huggingface/stored_tokens", ".snowflake/connections.toml"),
    *(".snowflake/config.toml", ".dbt/profiles.yml", "gh/hosts.yml", "*.tfstate", "*.tfvars"),
    *("*.tfvars.json", ".git/modules/**/config", ".git/worktrees/*/config.worktree"),
    *("*.p8", "*.kdbx", "kubeconfig", "rclone.conf", ".jupyter/jupyter_*config.*"),
    *("jupyter/runtime", "kernel-*-*-*-*-*.json", "*firebase-adminsdk*.json", "auth.json"),
    *("*service[_-]account*.json", "token.json"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"),
    *("*.pem", "*.p12", "*.pfx", "*.key", "*.ppk", "*.jks", "*.keystore"),
    *(".aws", ".azure", ".ssh", ".gnupg", ".kaggle", ".kube", ".docker", ".dockercfg", "gcloud"),
)
# A copy that an editor or a person left holds the same keys.
_COPY = r"(?:[~#]|\.(?:bak|backup|bkp|copy|old|orig|save|sw[a-p]|\d{1,8}))?\s*"


def _glob(name: str) -> str:
    kept = re.split(r"(\*\*|\*|\[[^\]]*\])", name)
    starred = {"*": "[^/]*", "**": ".*"}
    return "".join(
        starred[p] if p in starred else p if p[:1] == "[" else re.escape(p) for p in kept
    )


_SECRET = re.compile(
    rf"(?:^|/)\s*+[.#]{{0,2}}(?:{'|'.join(map(_glob, SECRET_NAMES))}){_COPY}(?:/|$)", re.IGNORECASE
)
# Files that steer git, shells, the start of Python, editors, what builds and tests on its own,
# other agents and our own limits: no automatic edit. Code of the project is none of them.
STEERING_NAMES = (
    *(".git", ".gitattributes", ".gitmodules", ".gitconfig", ".husky", ".pre-commit-config.yaml"),
    *(".github", ".gitlab-ci.yml", ".circleci", ".travis.yml", "Jenkinsfile", ".drone.yml"),
    *("azure-pipelines.yml", "bitbucket-pipelines.yml", ".woodpecker.yml", ".buildkite"),
    *(".vscode", ".idea", ".zed", ".vim", ".nvim", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua"),
    *(".dir-locals.el", "*.code-workspace", ".devcontainer", ".devcontainer.json"),
    *(".mcp.json", ".claude", ".claude.json", ".cursor", ".windsurf", ".gemini", ".codex"),
    *(".aider*", ".continue", ".bashrc", ".bash_*", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    *(".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".config/fish"),
    *(".cargo/config", ".cargo/config.toml", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".yarn"),
    *("pip.conf", "pip.ini", ".condarc", ".direnv", "mise.toml", ".mise.toml", ".tool-versions"),
    *("sitecustomize.py", "usercustomize.py", "*.pth", "pyvenv.cfg", ".ipython", ".jupyter"),
    *("jupyter_*config.py", "jupyter_*config.json", "ipython_config.py", ".pdbrc", ".pythonrc*"),
    *(".Rprofile", ".shiro/config.toml", "*.git", ".config/git", "lefthook.*", ".lefthook*"),
    *(".overcommit.yml", ".gdbinit", ".gdbearlyinit", ".lldbinit", ".mvn", ".bazelrc", ".emacs"),
    *(".emacs.d", "jupyter_*config.d", "sitecustomize", "usercustomize", "CLAUDE.md"),
    *("CLAUDE.local.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roo"),
    *(".roomodes", ".goosehints", ".kiro", ".amazonq", ".junie", ".opencode", "opencode.json"),
)
_STEERING = re.compile(
    rf"(?:^|/)(?:{'|'.join(map(_glob, STEERING_NAMES))})\s*(?:/|$)", re.IGNORECASE
)
# With these two any folder may come to be a repository, whose settings run programs.
_REPOSITORY = re.compile(r"(?:^|/)(?:HEAD|config)\s*$", re.IGNORECASE)


def is_secret_name(path: str | PurePath) -> bool:
    """Whether the file's name, or that of a folder above it, says that it holds keys: reading it
    is a question, and its lines come up in no search."""
    text = path.as_posix() if isinstance(path, PurePath) else path
    return _SECRET.search(text) is not None


def is_steering_name(path: str, *, word: bool = False) -> bool:
    """Whether an edit of the file would change what other programs do, so that it always asks.
    A `word` of a command that is HEAD or config is rarely a file."""
    return bool(_STEERING.search(path) or (not word and _REPOSITORY.search(path)))


def named(text: str) -> frozenset[str]:
    """The names in a text, between blanks: a long list reads better so than as quoted words."""
    return frozenset(text.split())
