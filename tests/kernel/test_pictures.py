"""Pictures of code that no cell shows: which are kept, and for how long."""

from __future__ import annotations

import base64

import pytest

from shiro_jupyter.kernel import pictures
from shiro_jupyter.kernel.pictures import Picture, Pictures


def test_the_best_picture_of_a_display_is_kept() -> None:
    kept = Pictures()
    bundle = {"text/plain": "<Figure>", "image/svg+xml": "<svg/>", "image/png": "aGVs\nbG8=\n"}
    assert kept.find(kept.keep(bundle)) == Picture("image/png", "aGVsbG8=")


@pytest.mark.parametrize(
    ("mime", "data"), [("image/png", b"hello"), ("image/svg+xml", "<svg>é</svg>")]
)
def test_what_is_not_base64_yet_becomes_it(mime: str, data: str | bytes) -> None:
    kept = Pictures()
    found = kept.find(kept.keep({mime: data}))
    assert found is not None and found.mime == mime
    raw = data if isinstance(data, bytes) else data.encode()
    assert base64.b64decode(found.data) == raw


def test_a_display_without_a_picture_has_no_key() -> None:
    kept = Pictures()
    assert kept.keep({"text/html": "<b>", "application/pdf": "x", "image/tiff": "x"}) == ""
    assert kept.find("") is None


def test_the_newest_are_kept_and_none_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "ONE_KEPT", 4)
    monkeypatch.setattr(pictures, "ALL_KEPT", 10)
    kept = Pictures()
    keys = [kept.keep({"image/png": "x" * size}) for size in (4, 5, 4, 4)]
    assert len(set(keys)) == 4
    assert [kept.find(key) is not None for key in keys] == [False, False, True, True]
