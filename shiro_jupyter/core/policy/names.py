"""Names of files that hold keys, and of files that steer other programs."""

from __future__ import annotations

import re
from pathlib import PurePath

# Files, and folders with all that is below them, which usually hold keys.
SECRET_NAMES = (
    *(".env", ".envrc", ".env[._~ -]*", ".envrc[._~ -]*", "*.env", ".Renviron"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".npmrc", ".htpasswd", ".vault-token"),
    *(".git-credentials", "credentials", "credentials.json", "client_secret*.json"),
    *("service[_-]account*.json", "kaggle.json", ".databrickscfg", ".boto", ".s3cfg"),
    *("secret.yaml", "secret.yml", "secret.json", "secret.toml"),
    *("secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"),
    *("*.pem", "*.p12", "*.pfx", "*.key", "*.ppk", "*.jks", "*.keystore"),
    *(".aws", ".ssh", ".gnupg", ".kaggle", ".kube", ".docker", ".dockercfg", "gcloud"),
)
# A copy that an editor or a person left holds the same keys.
_COPY = r"(?:[~#]|\.(?:bak|old|orig|save|sw[op]))?\s*"


def _glob(name: str) -> str:
    kept = re.split(r"(\*|\[[^\]]*\])", name)
    return "".join("[^/]*" if p == "*" else p if p[:1] == "[" else re.escape(p) for p in kept)


_SECRET = re.compile(
    rf"(?:^|/)[.#]{{0,2}}(?:{'|'.join(map(_glob, SECRET_NAMES))}){_COPY}(?:/|$)", re.IGNORECASE
)
# Files that steer git, our own limits, or the person's other tools: no automatic edit.
_STEERING = re.compile(
    r"(?:^|/)(?:\.git|\.shiro/config\.toml|\.vscode|\.idea)(?:/|$)", re.IGNORECASE
)


def is_secret_name(path: str | PurePath) -> bool:
    """Whether the file's name, or that of a folder above it, says that it holds keys: reading it
    is a question, and its lines come up in no search."""
    text = path.as_posix() if isinstance(path, PurePath) else path
    return _SECRET.search(text) is not None


def is_steering_name(path: str) -> bool:
    """Whether an edit of the file would change what other programs do, so that it always asks."""
    return _STEERING.search(path) is not None
