"""The user's own folders, settled once from the environment that the host passes in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs


@dataclass(frozen=True)
class Folders:
    """`config` holds settings and global memory, `data` sessions, history and recall counts."""

    config: Path
    data: Path
    home: Path

    @property
    def settings_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def memory_dir(self) -> Path:
        return self.config / "memory"

    @property
    def sessions_dir(self) -> Path:
        return self.data / "sessions"

    def undo_dir(self, session: str) -> Path:
        """Where what the session's tools changed is kept as it was before."""
        return self.data / "undo" / session

    def outputs_dir(self, root: Path) -> Path:
        """Where the long outputs of one project's commands are, apart from those of others."""
        return self.data / "outputs" / _name_of(root)

    def history_file(self, root: Path) -> Path:
        """Where the prompts typed in one project are."""
        return self.data / "history" / f"{_name_of(root)}.jsonl"


def _name_of(root: Path) -> str:
    return hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:16]


def user_folders(environ: Mapping[str, str]) -> Folders:
    """`SHIRO_HOME` puts both under one folder; else the platform's places.

    Nothing is created. `platformdirs` itself looks at the XDG variables of the process.
    """
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if together := environ.get("SHIRO_HOME"):
        base = Path(together)
        if together.startswith("~"):
            base = home / together[1:].lstrip("/\\")
        base = base.absolute()
        return Folders(base / "config", base / "data", home)
    dirs = PlatformDirs("shiro", appauthor=False)
    return Folders(Path(dirs.user_config_dir), Path(dirs.user_data_dir), home)
