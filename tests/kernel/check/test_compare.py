from __future__ import annotations

import base64
import struct
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from shiro_jupyter.kernel.check.compare import CUT, compared


def printed(text: Any, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def value(**data: Any) -> dict[str, Any]:
    mimes = {name.replace("_", "/"): each for name, each in data.items()}
    return {"output_type": "execute_result", "data": mimes, "metadata": {}}


def png(width: int, height: int, noise: bytes = b"") -> str:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return base64.b64encode(head + b"\x08\x06\0\0\0" + noise * 20).decode()


NOW = datetime(2026, 12, 1, 8, 0, 1, tzinfo=timezone(timedelta(hours=-3)))
FRAME = "        price  n\ncity            \nOslo  12.250000  3\nRome   7.100000  4"


@pytest.mark.parametrize(
    ("was", "now", "how"),
    [
        ("done\n", "done\n", "same"),
        ("done", "done\n\n", "same"),
        ("done\n", "Done\n", "differs"),
        (FRAME, FRAME.replace("12.250000", "12.2500000000001"), "same"),
        (FRAME, FRAME.replace("12.250000", "12.26"), "differs"),
        (FRAME, FRAME.replace("Oslo", "Bonn"), "differs"),
        (FRAME, FRAME.replace("   7.1", "        7.1"), "same"),
        ("1000000 rows", "1000001 rows", "differs"),
        ("loss: 0.30000000000000004", "loss: 0.3", "same"),
        ("nan", "nan", "same"),
        ("<A object at 0x7f01ab23cd45>", "<A object at 0x7fff00000000>", "times"),
        ("<A object at 0x7f01ab23cd45>", "<B object at 0x7fff00000000>", "differs"),
        ("started 2026-11-30 21:37:19", "started 2026-12-01 08:00:01", "times"),
        ("2026-11-30T21:37:19.123456Z ok", "2026-12-01T08:00:01.5Z ok", "times"),
        ("took 1.23 s", "took 45 ms", "times"),
        ("took 1.23 s, 5 rows", "took 1.31 s, 6 rows", "differs"),
        ("12.3 ms ± 45 µs per loop", "13 ms ± 1.2 µs per loop", "times"),
        ("100%|##| 10/10 [00:01<00:00, 8.1it/s]", "100%|##| 10/10 [00:02<00:00, 4.9it/s]", "times"),
        ("saved /tmp/tmpab12/x.csv", "saved /tmp/tmpzz99/x.csv", "times"),
        ("saved /data/a/x.csv", "saved /data/b/x.csv", "differs"),
        ("Mon Nov 30 2026", "Tue Dec 1 2026", "times"),
        (
            "id 123e4567-e89b-12d3-a456-426614174000",
            "id 9c5b94b1-35ad-49bb-b118-8e8fc24abf80",
            "times",
        ),
        ("10%\r50%\r100%", "33%\r100%", "same"),
        ("\x1b[31mred\x1b[0m", "red", "same"),
        ("3", "3.0", "same"),
        ("v1.2.3", "v1.2.4", "differs"),
        ("-1", "1", "differs"),
        ("part 2_ done", "part 1_ done", "differs"),
        ("1__2", "1__3", "differs"),
        ("9" * 400, "8" * 400, "differs"),
        ("1" * 100_000 + "a", "1" * 100_000 + "b", "differs"),  # at once
        ("1e-300", "-1e-300", "differs"),
        ("at 08:00:00 row\n" * 50_000, "at 07:59:59 row\n" * 50_000, "times"),
        ("row\n" * 200_000, "row\n" * 130_000, "same"),  # of which no more was kept
        ("newest order: 2023-12-31", "newest order: 2024-12-31", "differs"),
        ("2023-12-31 at 2026-11-30", "2023-12-31 at 2026-12-01", "times"),
        ("waiting time 5 min, opened 08:00", "waiting time 95 min, opened 11:30", "differs"),
        ("waiting time 5 min", "waiting time 95 min", "differs"),
        ("at 06:10", "at 07:58:59", "times"),
        ("at 06:10", "at 10:58", "times"),  # in UTC
        ("Mon Nov 30 09:05:11 2026", "Tue Dec  1 08:00:00 2026", "times"),
        ("datetime.date(2026, 1, 2)", "datetime.date(2026, 12, 1)", "times"),
        ("datetime.date(2026, 1, 2)", "datetime.date(2026, 1, 3)", "differs"),
        ("datetime.timedelta(days=3)", "datetime.timedelta(days=4)", "differs"),
        ("0:00:01.234567", "0:00:02.000001", "times"),
        ("Wall time: 1e+03 ns", "Wall time: 954 ns", "times"),
        ("Wall time: 59.1 s", "Wall time: 1min 2s", "times"),
        (
            "CPU times: user 2 µs, sys: 1e+03 ns, total: 3 µs",
            "CPU times: user 1 µs, sys: 0 ns, total: 1 µs",
            "times",
        ),
        (
            "1.2 ms ± 3 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
            "998 µs ± 1 µs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
            "times",
        ),
        ("1_000", "1000", "same"),
        ("1e-12", "0", "differs"),
    ],
)
def test_texts_differ_by_what_they_say(was: str, now: str, how: str) -> None:
    assert compared([printed(was)], [printed(now)], now=NOW).how == how
    assert compared([value(text_plain=was)], [value(text_plain=now)], now=NOW).how == how


def test_the_first_line_that_differs_is_told() -> None:
    saved, fresh = [printed("a\nat 10:20\nb 1\nc")], [printed("a\nat 07:59\nb 2\nd")]
    found = compared(saved, fresh, now=NOW)
    assert found.what == "saved “b 1”, now “b 2”"


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        (
            f"{'a ' * 60}one two",
            f"{'a ' * 60}one ten",
            "saved “… a a a a a a a one two”, now “… a a a a a a a one ten”",
        ),
        (
            f"took 3.1 s {'x' * 90}1{'y' * 90}",
            f"took 12.4 s {'x' * 90}2{'y' * 90}",
            f"saved “…{'x' * 20}1{'y' * 57}…”, now “…{'x' * 20}2{'y' * 57}…”",
        ),
        (f"{'b' * 90}", f"{'b' * 90} more", f"saved “…{'b' * 20}”, now “…{'b' * 20} more”"),
        (f"one {'z' * 100}", f"two {'z' * 100}", f"saved “one {'z' * 75}…”, now “two {'z' * 75}…”"),
    ],
)
def test_long_lines_are_told_from_where_they_part(was: str, now: str, what: str) -> None:
    assert compared([printed(was)], [printed(now)]).what == what


def test_the_tolerance_is_the_callers() -> None:
    was, now = [printed("0.5001")], [printed("0.5002")]
    assert compared(was, now).how == "differs"
    assert compared(was, now, tolerance=1e-3).how == "same"


def test_streams_are_compared_as_wholes_whatever_their_pieces_and_order() -> None:
    was = [printed(["a\n", "b\n"]), printed("warned\n", "stderr")]
    now = [printed("warned\n", "stderr"), printed("a\n"), printed("b\n")]
    assert compared(was, now).how == "same"


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        ([printed("a")], [], "stdout is not there"),
        ([], [value(text_plain="1")], "a value is new"),
        ([printed("a")], [printed("a", "stderr")], "stdout became stderr"),
        (
            [value(image_png=png(6, 4))],
            [value(text_plain="x")],
            "an image (image/png) became a value",
        ),
        (
            [value(image_png=png(6, 4), text_plain="<Figure>")],
            [value(image_png=png(6, 5), text_plain="<Figure>")],
            "the image was 6×4 and is 6×5 pixels",
        ),
    ],
)
def test_what_is_new_gone_or_of_another_kind_is_named(
    was: list[Any], now: list[Any], what: str
) -> None:
    assert compared(was, now).what == what


def test_images_are_the_same_whatever_their_bytes() -> None:
    was, now = (value(image_png=png(6, 4, noise)) for noise in (b"a", b"b"))
    assert compared([was], [now]).how == "same"
    told = value(image_png={"mime": "image/png", "bytes": 900})  # by a page that left it out
    assert compared([told], [now]).how == "same"


def test_html_counts_by_its_text_and_only_where_there_is_no_other() -> None:
    styled = '<style>#T_{}</style><b id="T_{}">Oslo</b> <i>12.5</i>'
    plain = "<IPython.core.display.HTML object>"
    was = value(text_html=styled.format("ab1", "ab1"), text_plain=plain)
    same = value(text_html=styled.format("cd2", "cd2"), text_plain=plain)
    other = value(text_html=styled.format("cd2", "cd2").replace("Oslo", "Rome"), text_plain=plain)
    assert compared([was], [same]).how == "same"
    assert compared([was], [other]).how == "differs"


@pytest.mark.parametrize(
    ("mime", "was", "now"),
    [
        ("text/markdown", "**3** rows", "**4** rows"),
        ("text/latex", "$x^2$", "$x^3$"),
        ("application/json", {"rows": 3}, {"rows": 4}),
    ],
)
def test_what_a_page_renders_counts_by_its_source(mime: str, was: Any, now: Any) -> None:
    plain = "<IPython.core.display.Markdown object>"
    saved, fresh = (value(text_plain=plain, **{mime.replace("/", "_"): x}) for x in (was, now))
    assert compared([saved], [saved]).how == "same"
    assert compared([saved], [fresh]).how == "differs"
    # Of a plain text, too, that does not tell the difference.
    saved, fresh = (value(text_plain="Table(4)", **{mime.replace("/", "_"): x}) for x in (was, now))
    assert compared([saved], [fresh]).how == "differs"


def test_a_long_text_counts_whole_and_one_that_the_page_cut_by_what_it_left() -> None:
    whole = "".join(f"line {n}\n" for n in range(10_000))
    assert (
        compared([printed(whole)], [printed(whole.replace("line 9500", "none"))]).how == "differs"
    )
    cut = f"{whole[: CUT // 2]}\n[… 78,890 characters left out …]\n{whole[-CUT // 2 :]}"
    assert compared([printed(cut)], [printed(whole)]).how == "same"
    assert compared([printed(cut)], [printed(whole.replace("line 9500", "none"))]).how == "differs"
    assert compared([printed(cut)], [printed(f"x{whole}")]).how == "differs"
    wide = "x" * (CUT // 2)
    cut = f"{wide}\n[… 10 characters left out …]\n{wide}"
    assert compared([printed(cut)], [printed(f"{wide}{'y' * 10}{wide}")]).how == "same"
