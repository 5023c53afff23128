from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.kernel.tee import FORWARD_LIMIT, KEPT_LIMIT, Ends, Tee, TeeStream

Streams = tuple[io.StringIO, io.StringIO]


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Streams]:
    """Puts streams of ours in place; called by the test, since pytest sets its own before."""

    def patch() -> Streams:
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        return out, err

    return patch


def say(text: str, stream: str = "stdout") -> None:
    getattr(sys, stream).write(text)


@given(st.lists(st.text(max_size=8)), st.integers(1, 20))
def test_ends_are_the_first_and_last_characters(pieces: list[str], half: int) -> None:
    ends = Ends(2 * half)
    for piece in pieces:
        ends.add(piece)
    whole = "".join(pieces)
    if len(whole) <= 2 * half:
        assert ends.text() == whole
        assert not ends.cut
    else:
        assert ends.text().startswith(whole[:half] + "\n[…")
        assert ends.text("all.log").endswith(
            f"left out; all of it is in all.log …]\n{whole[-half:]}"
        )
        assert ends.cut == len(whole) - 2 * half


def test_both_streams_reach_the_cell_in_order_and_are_kept(patched: Callable[[], Streams]) -> None:
    streams = patched()
    shown: list[str] = []
    tee = Tee(shown.append)
    with tee.installed():
        say("a\n")
        say("bad\n", "stderr")
        say("b\n")
    assert (streams[0].getvalue(), streams[1].getvalue()) == ("a\nb\n", "bad\n")
    assert "".join(shown) == "a\nbad\nb\n"
    assert (tee.kept["stdout"].text(), tee.kept["stderr"].text()) == ("a\nb\n", "bad\n")
    assert (sys.stdout, sys.stderr) == streams


def test_what_is_printed_is_passed_on_while_the_code_is_silent(
    patched: Callable[[], Streams],
) -> None:
    streams = patched()
    heard = threading.Event()
    with Tee(lambda text: heard.set()).installed():
        say("loading")
        assert heard.wait(5)  # no further write or flush is needed
        assert streams[0].getvalue() == "loading"


def test_output_over_the_cap_reaches_the_log_and_not_the_stream(
    patched: Callable[[], Streams], tmp_path: Path
) -> None:
    streams = patched()
    shown: list[str] = []
    tee = Tee(shown.append, lambda: tmp_path / "all.log")
    lines = [f"line {number}\n" for number in range(100_000)]
    with tee.installed():
        for line in lines:
            say(line)
        sys.stdout.flush()
        assert len(streams[0].getvalue()) == FORWARD_LIMIT
    whole, passed = "".join(lines), streams[0].getvalue()
    assert passed.startswith(whole[:FORWARD_LIMIT])
    assert passed.endswith("line 99998\nline 99999\n")
    assert len(passed) < FORWARD_LIMIT + 3_000
    assert "".join(shown) == passed
    assert (tmp_path / "all.log").read_text() == whole
    kept = tee.kept["stdout"].text(tee.log_path)
    assert kept.startswith("line 0\n")
    assert kept.endswith("line 99999\n")
    assert str(tmp_path / "all.log") in kept
    assert len(kept) < KEPT_LIMIT["stdout"] + 200


def test_the_count_of_what_is_not_shown_is_right(
    patched: Callable[[], Streams], tmp_path: Path
) -> None:
    streams = patched()
    with Tee(lambda text: None, lambda: tmp_path / "all.log").installed():
        say("x" * (FORWARD_LIMIT + 5_000))
    note = streams[0].getvalue()[FORWARD_LIMIT:]
    assert note.startswith("\n[… 3,000 characters not shown here: ")
    assert note.endswith("…]\n" + "x" * 2_000)


def test_what_the_model_does_not_see_is_in_a_log_though_the_cell_shows_it_all(
    patched: Callable[[], Streams], tmp_path: Path
) -> None:
    streams = patched()
    tee = Tee(lambda text: None, lambda: tmp_path / "all.log")
    with tee.installed():
        say("y" * 20_000)
    assert streams[0].getvalue() == "y" * 20_000
    assert (tmp_path / "all.log").read_text() == "y" * 20_000
    assert tee.log_path == str(tmp_path / "all.log")


def test_little_output_makes_no_file(patched: Callable[[], Streams], tmp_path: Path) -> None:
    patched()
    tee = Tee(lambda text: None, lambda: tmp_path / "all.log")
    with tee.installed():
        say("z" * 5_000)
    assert not list(tmp_path.iterdir())
    assert tee.log_path == ""


def test_threads_of_the_code_are_heard_and_older_ones_are_not(
    patched: Callable[[], Streams],
) -> None:
    streams = patched()
    ready, go, done = threading.Event(), threading.Event(), threading.Event()

    def older() -> None:
        ready.set()
        go.wait(5)
        say("older ")
        done.set()

    stranger = threading.Thread(target=older)
    stranger.start()
    ready.wait(5)
    tee = Tee(lambda text: None)
    with tee.installed():
        younger = threading.Thread(target=say, args=("younger ",))
        younger.start()
        younger.join()
        go.set()
        assert done.wait(5)
    stranger.join()
    assert tee.kept["stdout"].text() == "younger "
    assert sorted(streams[0].getvalue().split()) == ["older", "younger"]


def test_a_stream_that_the_code_stored_lives_on(patched: Callable[[], Streams]) -> None:
    streams = patched()
    tee = Tee(lambda text: None)
    with tee.installed():
        stored = sys.stdout
        stored.write("during\n")
    stored.write("after\n")
    stored.flush()
    assert streams[0].getvalue() == "during\nafter\n"
    assert tee.kept["stdout"].text() == "during\n"
    del stored  # its finalizer leaves the stream under it open
    assert not streams[0].closed


@pytest.mark.parametrize("put", [io.StringIO(), None])
def test_whatever_the_code_put_in_place_the_streams_are_back(
    patched: Callable[[], Streams], put: io.StringIO | None
) -> None:
    streams = patched()
    with Tee(lambda text: None).installed():
        sys.stdout, sys.stderr = put, put  # type: ignore[assignment]
    assert (sys.stdout, sys.stderr) == streams


def test_a_stream_that_is_none_before_is_none_after_and_what_is_printed_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    tee = Tee(lambda text: None)
    with tee.installed():
        say("to nowhere\n")
        sys.stdout.flush()
    after = sys.stdout
    monkeypatch.undo()
    assert after is None
    assert tee.kept["stdout"].text() == "to nowhere\n"


def test_a_left_over_stand_in_is_not_wrapped_again(patched: Callable[[], Streams]) -> None:
    streams = patched()
    with Tee(lambda text: None).installed():
        kept = sys.stdout
    sys.stdout = kept
    with Tee(lambda text: None).installed():
        assert isinstance(sys.stdout, TeeStream)
        assert sys.stdout.under is streams[0]


def test_the_stand_in_answers_as_the_stream_under_it(tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w", encoding="latin-1", errors="replace") as file:
        stream = TeeStream(Tee(lambda text: None), "stdout", file)
        assert (stream.encoding, stream.errors) == ("latin-1", "replace")
        assert stream.fileno() == file.fileno()
        assert not stream.isatty()
        assert stream.buffer is file.buffer
        with pytest.raises(TypeError):
            stream.write(b"bytes")  # type: ignore[arg-type]


def test_unkept_output_reaches_the_cell_only(patched: Callable[[], Streams]) -> None:
    streams = patched()
    tee = Tee(lambda text: None)
    with tee.installed():
        say("kept ")
        with tee.unkept():
            say("shown ")
    assert tee.kept["stdout"].text() == "kept "
    assert streams[0].getvalue() == "kept shown "


def test_flushing_after_the_cap_does_not_flush_the_stream(tmp_path: Path) -> None:
    class Counting(io.StringIO):
        flushes = 0

        def flush(self) -> None:
            Counting.flushes += 1

    before, sys.stdout = sys.stdout, Counting()
    try:
        with Tee(lambda text: None, lambda: tmp_path / "all.log").installed():
            say("x" * FORWARD_LIMIT)
            for _ in range(1_000):
                say("more")
                sys.stdout.flush()
    finally:
        sys.stdout = before
    assert Counting.flushes < 10


def test_an_error_in_the_code_restores_the_streams(patched: Callable[[], Streams]) -> None:
    streams = patched()

    def failing(fail: Callable[[], None]) -> None:
        with Tee(lambda text: None).installed():
            say("before the error")
            fail()

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing(fail)
    assert (sys.stdout, sys.stderr) == streams
    assert streams[0].getvalue() == "before the error"
