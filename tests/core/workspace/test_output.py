from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.workspace import output
from shiro_jupyter.core.workspace.output import HeadAndTail, News, Output


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


SECRET = "sk-" + "proj-abcDEF123456ghiJKL789012"


@pytest.mark.parametrize("size", [1, 7, 50])
def test_a_secret_is_in_no_part_of_it_wherever_it_is_cut(tmp_path: Path, size: int) -> None:
    """Neither live, nor at the ends that are kept, nor in the file; bytes that are no text stay."""
    raw = b"\xff\xfe" + f"{SECRET}\n".encode() * 20 + b"\x80 end"
    clean = raw.replace(SECRET.encode(), b"[redacted: API key]")
    seen: list[str] = []

    async def run() -> tuple[str, str]:
        heard = Output(60, tmp_path / "a/out.txt", seen.append, Redactor().stream)
        news = News(60, tmp_path / "a/news.txt", Redactor().stream)
        looks = []
        for start in range(0, len(raw), size):
            heard.feed(raw[start : start + size])
            heard._flush()
            news.feed(raw[start : start + size])
            looks.append(news.look())
        heard.close()
        news.close()
        return heard.text(), "".join([*looks, news.look()])

    text, looked = asyncio.run(run())
    for name in ("out", "news"):
        assert (tmp_path / f"a/{name}.txt").read_bytes() == clean
    for told in (text, looked, "".join(seen)):
        assert "sk-" not in told and told.endswith("end")
    assert looked.replace("�", "") == "".join(seen).replace("�", "")


def test_a_line_begun_is_shown_before_it_ends(tmp_path: Path) -> None:
    async def run() -> None:
        seen: list[str] = []
        heard = Output(60, tmp_path / "out.txt", seen.append, Redactor().stream)
        heard.feed(b"50 % ...")
        heard._flush()
        assert seen == ["50 % ..."]
        heard.close()

    asyncio.run(run())


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
