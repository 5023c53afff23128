from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.policy.redactor import HELD, LINE, Redactor
from tests.core.policy.test_secrets import SECRETS

KEY = "our-own-word-of-no-shape"
SET_OFF = [f" {secret} " for secret in (*SECRETS.values(), KEY)]
OTHERS = [KEY[:9], "\n", "\r\n", " ", "a", "é", "word ", "password: ", "://u:"]
TEXT = st.lists(st.sampled_from([*SET_OFF, *OTHERS]), max_size=12).map("".join)


def streamed(pieces: list[str], redactor: Redactor, settle: bool = False) -> str:
    stream = redactor.stream()
    told = []
    for piece in pieces:
        told.append(stream.feed(piece))
        if settle:
            told.append(stream.settle())
    return "".join([*told, stream.end()])


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(marks)]


@given(TEXT, st.lists(st.integers(0, 400), max_size=8), st.booleans())
def test_what_comes_in_pieces_is_told_without_its_secrets(
    text: str, places: list[int], settle: bool
) -> None:
    redactor = Redactor([KEY])
    told = streamed(cut(text, places), redactor, settle)
    assert not [each for each in (*SECRETS.values(), KEY) if each in told]
    if not settle:
        assert told == redactor(text)


@pytest.mark.parametrize("kind", [*SECRETS, "own"])
@pytest.mark.parametrize("settle", [False, True])
def test_no_cut_shows_any_part_of_a_secret(kind: str, settle: bool) -> None:
    secret = SECRETS.get(kind, KEY)
    text = f"before {secret} after\n"
    redactor = Redactor([KEY])
    for place in range(len(text)):
        assert streamed([text[:place], text[place:]], redactor, settle) == redactor(text)
    assert streamed(list(text), redactor, settle) == redactor(text)


def test_a_line_is_told_when_it_ends_and_one_begun_when_it_cannot_hold_a_secret() -> None:
    stream = Redactor([KEY]).stream()
    assert stream.feed("one\ntwo") == "one\n" and stream.settle() == ""
    assert stream.feed("\r50 %") == "two\r" and stream.settle() == "50 %"
    assert stream.feed("....") == "" and stream.settle() == "...."
    assert stream.feed(f"x {KEY[:5]}") == "" and stream.settle() == ""
    assert stream.feed(f"{KEY[5:]} y") == "" and stream.settle() == "x [redacted: key] "
    assert stream.feed("ou") + stream.end() == "you"


def test_a_key_of_several_lines_is_held_back_to_its_end() -> None:
    head, end = SECRETS["private key"].split("\n-----END")
    stream = Redactor().stream()
    assert stream.feed(f"a\n{head}\n") == "a\n"
    assert stream.feed("MIIEcd+/=\n" * 100) == ""
    assert stream.feed(f"-----END{end}\nb\n") == "[redacted: private key]\nb\n"


@pytest.mark.parametrize("piece", ["a", "ab ", "x=1;", "-", "sk-", "-----BEGIN PRIVATE KEY-----\n"])
def test_what_is_held_back_is_bounded(piece: str) -> None:
    stream, told, size = Redactor([KEY]).stream(), 0, 2_000
    chunk = piece * (size // len(piece))
    for count in range(1, 200):
        told += len(stream.feed(chunk))
        assert len(stream._held) <= LINE + HELD + len(chunk), count


@settings(max_examples=20)
@given(st.integers(0, 3 * HELD), st.sampled_from(sorted(SECRETS)), st.integers(1, 5_000))
def test_a_secret_in_a_line_without_end_is_taken_out(at: int, kind: str, size: int) -> None:
    text = "x," * (LINE // 2) + "y," * at + f" {SECRETS[kind]} " + "z," * LINE
    told = streamed([text[i : i + size] for i in range(0, len(text), size)], Redactor())
    assert SECRETS[kind] not in told and f"[redacted: {kind}]" in told
    assert told == Redactor()(text)


def test_much_output_is_read_in_time() -> None:
    line = "2026-01-05 10:00:00 INFO step=12 token=abc key: value loss=0.123\n"
    stream, began = Redactor([KEY]).stream(), time.process_time()
    for _ in range(20):
        stream.feed(line * 4_000)
    assert time.process_time() - began < 5
