from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.workspace import output
from shiro_jupyter.core.workspace.output import HeadAndTail, Output


@given(st.lists(st.text(max_size=20), max_size=30), st.integers(2, 60))
def test_however_a_text_comes_the_same_ends_are_kept(parts: list[str], limit: int) -> None:
    kept, whole = HeadAndTail(limit), "".join(parts)
    for part in parts:
        kept.add(part)
        assert len(kept._head) + sum(map(len, kept._tail)) <= limit + 20
    assert kept.left_out == max(0, len(whole) - limit)
    if kept.left_out:
        head, tail = whole[: limit - limit // 2], whole[-(limit // 2) :]
        assert kept.text() == f"{head}\n[… {kept.left_out:,} characters left out …]\n{tail}"
    else:
        assert kept.text("unused") == whole


@given(st.text(max_size=40), st.data())
def test_text_cut_at_any_byte_streams_whole(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    seen: list[str] = []

    async def run() -> str:
        heard = Output(1_000, Path("/nowhere/at/all"), seen.append)
        for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
            heard.feed(raw[start:end])
        heard.close()
        heard.feed(b"too late")
        return heard.text()

    assert asyncio.run(run()) == "".join(seen) == text


def test_a_file_ends_at_its_limit_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> tuple[str, Path | None]:
        heard = Output(10, tmp_path / "new/out.txt", lambda text: None)
        for _ in range(10):
            heard.feed(b"0123456789")
        heard.close()
        return heard.text(), heard.path

    monkeypatch.setattr(output, "FILE_LIMIT", 35)
    text, path = asyncio.run(run())
    assert path is not None
    assert path.read_bytes() == b"0123456789" * 3 + b"01234"
    assert f"90 characters left out: its beginning is in {path}" in text
