"""Keys that the person typed: in the system's keyring where there is one, else in a private file.

The file says for each origin where its key is, so that the keyring, which is slow and may ask
the person to unlock it, is opened only for a key that it holds.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import StorageError
from ..workspace.files import PRIVATE_FILE, locked, write_atomic
from ..workspace.folders import Folders
from .endpoints import origin_of

SERVICE = "shiro_jupyter"
IN_KEYRING = "the keyring"
# What the file says of a key that it does not hold itself.
_ELSEWHERE = {"keyring": True}


def load_keyring() -> Any | None:
    """The `keyring` package, None where it is not installed."""
    try:
        return importlib.import_module("keyring")
    except ImportError:
        return None


@dataclass
class Keys:
    """A key is bound to the origin it was set with, and handed out for no other."""

    folders: Folders
    keyring: Callable[[], Any | None] = load_keyring
    _unlocked: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def file(self) -> Path:
        return self.folders.config / "keys.json"

    def stored(self, base_url: str) -> str:
        """The key for a base URL, empty where there is none. Raises `StorageError`."""
        try:
            origin = origin_of(base_url)
        except ValueError:
            return ""
        entry = self._entries().get(origin, {})
        if entry != _ELSEWHERE:
            return str(entry.get("key", ""))
        if origin not in self._unlocked:
            self._unlocked[origin] = self._from_keyring(origin)
        return self._unlocked[origin]

    def keep(self, base_url: str, key: str) -> str:
        """Store a key, or forget it where it is empty; says where it is now."""
        origin = origin_of(base_url)
        if not key:
            self.forget(base_url)
            return ""
        place = IN_KEYRING if self._to_keyring(origin, key) else str(self.file)
        self._write(origin, _ELSEWHERE if place == IN_KEYRING else {"key": key})
        self._unlocked[origin] = key
        return place

    def forget(self, base_url: str) -> bool:
        """Remove the key of a base URL; whether there was one."""
        origin = origin_of(base_url)
        entry = self._entries().get(origin)
        self._unlocked.pop(origin, None)
        if entry is None:
            return False
        if entry == _ELSEWHERE:
            self._of_keyring(lambda keyring: keyring.delete_password(SERVICE, origin))
        self._write(origin, None)
        return True

    # -- the file ----------------------------------------------------------------------------

    def _entries(self) -> dict[str, dict[str, Any]]:
        try:
            said = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(f"{self.file} cannot be read: {error.strerror}.") from None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or not all(isinstance(each, dict) for each in said.values()):
            raise StorageError(
                f"{self.file} is damaged; remove it, then set your keys again with %shiro /connect."
            )
        return said

    def _write(self, origin: str, entry: dict[str, Any] | None) -> None:
        with locked(self.file):
            entries = self._entries()
            entries.pop(origin, None)
            if entry is not None:
                entries[origin] = entry
            if self.file.is_file():
                self.file.chmod(PRIVATE_FILE)  # a copied file may have come with another mode
            data = json.dumps(entries, indent=1, sort_keys=True) + "\n"
            write_atomic(self.file, data.encode(), private=True)

    # -- the keyring -------------------------------------------------------------------------

    def _to_keyring(self, origin: str, key: str) -> bool:
        """Whether the keyring holds the key now; some take it and keep nothing."""

        def keep(keyring: Any) -> bool:
            keyring.set_password(SERVICE, origin, key)
            return bool(keyring.get_password(SERVICE, origin) == key)

        return bool(self._of_keyring(keep))

    def _from_keyring(self, origin: str) -> str:
        return self._of_keyring(lambda keyring: keyring.get_password(SERVICE, origin)) or ""

    def _of_keyring(self, use: Callable[[Any], Any]) -> Any | None:
        keyring = self.keyring()
        if keyring is None:
            return None
        try:
            return use(keyring)
        # Backends raise what their system raises (D-Bus, Windows, …): no list covers them.
        except Exception:
            return None
