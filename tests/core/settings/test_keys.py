from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.settings.keys import IN_KEYRING, Keys
from shiro_jupyter.core.workspace.folders import Folders

URL, KEY = "https://api.example.org/v1", "sk-abcdef-123456"


@dataclass
class Keyring:
    """The part of the `keyring` package that is used; `broken` is what a backend raises."""

    held: dict[tuple[str, str], str] = field(default_factory=dict)
    broken: Exception | None = None
    keeps: bool = True
    asked: int = 0

    def set_password(self, service: str, name: str, key: str) -> None:
        self._fail()
        if self.keeps:
            self.held[service, name] = key

    def get_password(self, service: str, name: str) -> str | None:
        self._fail()
        return self.held.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        self._fail()
        del self.held[service, name]

    def _fail(self) -> None:
        self.asked += 1
        if self.broken:
            raise self.broken


def keys(folder: Path, keyring: Any = None) -> Keys:
    return Keys(Folders(folder / "config", folder / "data", folder), lambda: keyring)


def test_without_a_keyring_the_key_is_in_a_private_file(tmp_path: Path) -> None:
    store = keys(tmp_path)
    assert store.stored(URL) == ""
    assert store.keep(URL, KEY) == str(store.file)
    assert store.file.stat().st_mode & 0o777 == 0o600
    assert keys(tmp_path).stored(URL) == KEY
    assert store.forget(URL) and not store.forget(URL)
    assert keys(tmp_path).stored(URL) == ""
    assert KEY not in store.file.read_text()


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    store = keys(tmp_path)
    store.keep(URL, KEY)
    store.file.chmod(0o644)
    store.keep("https://other.example.org", "second")
    assert store.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://api.example.org/v1", True),
        ("https://API.example.org:443/other", True),
        ("https://api.example.org./v1", True),
        ("http://api.example.org/v1", False),
        ("https://api.example.org:8443/v1", False),
        ("https://api.example.org.evil.net/v1", False),
        ("https://evil.net/api.example.org/v1", False),
        ("https://api.example.org@evil.net/v1", False),
        ("https://example.org/v1", False),
        ("https://[broken", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("keyring", [None, Keyring()], ids=["file", "keyring"])
def test_a_key_is_handed_out_for_its_origin_alone(
    tmp_path: Path, url: str, fits: bool, keyring: Keyring | None
) -> None:
    store = keys(tmp_path, keyring)
    store.keep(URL, KEY)
    assert store.stored(url) == (KEY if fits else "")


def test_a_keyring_holds_the_key_and_the_file_only_says_so(tmp_path: Path) -> None:
    keyring = Keyring()
    store = keys(tmp_path, keyring)
    assert store.keep(URL, KEY) == IN_KEYRING
    assert list(keyring.held.values()) == [KEY]
    assert KEY not in store.file.read_text()
    fresh = keys(tmp_path, keyring)
    before = keyring.asked
    assert [fresh.stored(URL) for _ in range(3)] == [KEY] * 3
    assert keyring.asked == before + 1  # it may ask the person each time
    assert fresh.forget(URL)
    assert keyring.held == {} and keys(tmp_path, keyring).stored(URL) == ""


def test_the_keyring_is_left_alone_where_it_holds_nothing(tmp_path: Path) -> None:
    keyring = Keyring()
    assert keys(tmp_path, keyring).stored(URL) == ""
    keys(tmp_path).keep(URL, KEY)
    assert keys(tmp_path, keyring).stored(URL) == KEY
    assert keyring.asked == 0


@pytest.mark.parametrize(
    "keyring", [Keyring(broken=RuntimeError("no backend")), Keyring(keeps=False)]
)
def test_a_keyring_that_keeps_nothing_is_passed_over(tmp_path: Path, keyring: Keyring) -> None:
    store = keys(tmp_path, keyring)
    assert store.keep(URL, KEY) == str(store.file)
    assert keys(tmp_path, keyring).stored(URL) == KEY


def test_a_keyring_that_broke_later_gives_no_key(tmp_path: Path) -> None:
    keyring = Keyring()
    keys(tmp_path, keyring).keep(URL, KEY)
    keyring.broken = OSError("locked")
    store = keys(tmp_path, keyring)
    assert store.stored(URL) == ""
    assert store.keep(URL, "sk-new") == str(store.file)
    assert keys(tmp_path).stored(URL) == "sk-new"


def test_an_empty_key_forgets(tmp_path: Path) -> None:
    store = keys(tmp_path)
    store.keep(URL, KEY)
    assert store.keep(URL, "") == ""
    assert store.stored(URL) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"https://api.example.org:443": 3}', "\xff"])
def test_a_damaged_file_is_said_with_the_remedy(tmp_path: Path, text: str) -> None:
    store = keys(tmp_path)
    store.file.parent.mkdir()
    store.file.write_bytes(text.encode("latin-1"))
    with pytest.raises(StorageError, match=r"keys\.json is damaged; remove it"):
        store.stored(URL)
    with pytest.raises(StorageError):
        store.keep(URL, KEY)
    assert store.file.read_bytes() == text.encode("latin-1")


def test_a_key_is_in_no_repr(tmp_path: Path) -> None:
    keyring = Keyring()
    store = keys(tmp_path, keyring)
    store.keep(URL, KEY)
    assert KEY not in repr(store)


def test_keys_kept_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    urls = [f"https://host{number}.example.org" for number in range(8)]
    threads = [
        threading.Thread(target=lambda url=url: keys(tmp_path).keep(url, f"key of {url}"))
        for url in urls
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads(keys(tmp_path).file.read_text())) == len(urls)
    assert all(keys(tmp_path).stored(url) == f"key of {url}" for url in urls)
