"""Shapes of keys and tokens: found in what is stored or sent, and taken out of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

# A shape begins where a word does; in JSON text that may be right behind an escape such as `\n`.
_START = r"(?:(?<=\\[nrtbf])|(?<![A-Za-z0-9_-]))"

# Code is full of `token = f(…)` and `token = module.name`: no secrets.
_NO_CODE = (
    r"(?![\w.-]{0,200}[(\[])"
    r"(?![A-Za-z_]{1,80}[0-9]{0,2}(?:\.[A-Za-z_]{1,80}[0-9]{0,2}){1,9}(?![A-Za-z0-9_+/=.~-]))"
)
_PASSWORD = r"[^\s\"'\\,;&()<>\[\]{}|`]"

KNOWN_LENGTH = 8  # characters that a known key has at least


@dataclass(frozen=True)
class Shape:
    """One kind of secret. One of the `needles`, in lower case, stands in every text that holds
    it: nearly all texts are told from that alone. The group `keep` is not secret."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(kind: str, needles: str, pattern: str) -> Shape:
    return Shape(kind, tuple(needles.split()), re.compile(pattern))


SHAPES = (
    _shape(
        "private key",
        "-----begin",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s:,.()-]|\\[nrt])*?"
        # Its end, or where a torn block stops looking like one.
        r"(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?=[^A-Za-z0-9+/=\s:,.()\\-])|(?=\\(?:[^nrt]|\Z))|\Z)",
    ),
    _shape("JWT", "eyj", _START + r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    _shape("API key", "sk-", _START + r"sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}"),
    _shape(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    _shape("GitLab token", "glpat- gldt- glrt- glptt-", _START + r"gl(?:pat|dt|rt|ptt)-[\w-]{20,}"),
    _shape(
        "AWS key",
        "akia asia abia acca",
        _START + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9_-])",
    ),
    _shape(
        "Google key",
        "aiza ya29. gocspx-",
        _START + r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})",
    ),
    _shape(
        "Slack token",
        "xox xapp- hooks.slack.com",
        _START
        + r"(?:xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}"
        + r"|https://hooks\.slack\.com/services/[\w/]{20,})",
    ),
    _shape("Hugging Face token", "hf_", _START + r"hf_[A-Za-z0-9]{30,}"),
    _shape(
        "Stripe key",
        "k_live_ k_test_ whsec_",
        _START + r"(?:[spr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}",
    ),
    _shape(
        "package token",
        "npm_ pypi-age",
        _START + r"(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{40,})",
    ),
    _shape("SendGrid key", "sg.", _START + r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    _shape("Databricks token", "dapi", _START + r"dapi[0-9a-f]{32}"),
    _shape("xAI key", "xai-", _START + r"xai-[A-Za-z0-9]{20,}"),
    _shape("NVIDIA key", "nvapi-", _START + r"nvapi-[\w-]{20,}"),
    _shape("Replicate token", "r8_", _START + r"r8_[A-Za-z0-9]{30,}"),
    # Begun where a piece of a stream may be cut.
    _shape("webhook", "webhooks/", _START + r"(?P<keep>webhooks/\d{16,20}/)[A-Za-z0-9_-]{60,100}"),
    _shape("Telegram token", ":aa", _START + r"\d{8,12}:AA[\w-]{33}(?![\w-])"),
    _shape("signature", "sig=", _START + r"(?P<keep>sig=)[A-Za-z0-9%+/]{30,200}={0,2}"),
    _shape(
        "cookie",
        "cookie:",
        r"(?P<keep>(?i:cookie):[^\n\"'\\]{0,200}?(?i:sess|auth|token|sid)[\w.-]{0,64}=)"
        r"[^\s;\"'\\]{12,4000}",
    ),
    _shape("Groq key", "gsk_", _START + r"gsk_[A-Za-z0-9]{30,}"),
    _shape(
        "token",
        "bearer authorization:",
        _START
        + r"(?P<keep>(?i:bearer|authorization:\s?(?:basic|token))[ \t]{1,4})"
        + r"(?:(?=[A-Za-z._~+/-]{0,200}[0-9])[A-Za-z0-9._~+/-]{16,}={0,2}|[A-Za-z]{20,})",
    ),
    _shape(
        "password",
        "://",
        r"(?P<keep>://[^\s/:@\"'\\]{0,64}:)[^\s/@\"'\\]{3,128}(?=@)",
    ),
    _shape(
        "secret",
        "key secret token passw",
        r"(?P<keep>(?i:api[_-]?key|secret|token|passw(?:or)?d|ac(?:cess|count)[_-]?key)"
        r"[\"'\\]{0,3}[ \t]{0,4}(?:=|:)[ \t]{0,4}(?:\\?[\"'])?)"
        # Digits and letters both.
        r"(?=[A-Za-z_+/=.~-]{0,200}[0-9])(?=[0-9_+/=.~-]{0,200}[A-Za-z])"
        + _NO_CODE
        + r"[A-Za-z0-9_+/=.~-]{16,}",
    ),
    # Between quotes it goes to the other quote, whatever signs are in it.
    _shape(
        "password",
        "passw pwd",
        r"(?P<keep>(?i:passw(?:or)?d|(?<![a-z0-9])pwd)[\"'\\]{0,3}[ \t]{0,4}[=:][ \t]{0,4}"
        r"(?P<quote>\\?[\"']))(?![/~.$]|\[redacted)(?=[^\s\"'\\]{0,128}[0-9])"
        r"(?=[^\s\"'\\]{0,128}[A-Za-z])[^\s\"'\\(){}<>\[\]]{8,128}(?=(?P=quote))",
    ),
    _shape(
        "password",
        "passw pwd",
        r"(?P<keep>(?i:passw(?:or)?d|(?<![a-z0-9])pwd)[\"'\\]{0,3}"
        r"[ \t]{0,4}[=:][ \t]{0,4}(?:\\?[\"'])?)"
        # Neither a path nor a variable; digits and letters both.
        rf"(?![/~.$])(?={_PASSWORD}{{0,128}}[0-9])(?={_PASSWORD}{{0,128}}[A-Za-z])"
        rf"{_NO_CODE}{_PASSWORD}{{8,128}}",
    ),
)


_LETTERS = frozenset("".join(needle for shape in SHAPES for needle in shape.needles))


# What may stand inside a key that a terminal shows in one piece, or that was broken into lines.
_NOISE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1a\x1c-\x1f\x7f]")


@lru_cache(32)
def _noisy(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{_NOISE.pattern})*+".join(map(re.escape, key)))


def known(keys: Iterable[str]) -> list[str]:
    """The keys in use that are known by themselves, whatever their shape; a short one is a
    stand-in, and a word of texts."""
    return [key for key in keys if len(key) >= KNOWN_LENGTH]


def redact(text: str, keys: Iterable[str] = ()) -> str:
    """The text with each secret replaced by `[redacted: its kind]`; JSON text stays JSON.

    `keys` are those in use.
    """
    for key in sorted(known(keys), key=len, reverse=True):
        text = text.replace(key, "[redacted: key]")
        if _NOISE.search(text):
            text = _noisy(key).sub("[redacted: key]", text)
    for shape in _possible(text):
        text = shape.pattern.sub(_replacement(shape), text)
    return text


def looks_secret(text: str, *, apart_from: Collection[str] = ()) -> str:
    """The kind of a secret in the text, empty where there is none; not looked for are the kinds
    `apart_from`."""
    shapes = (shape for shape in _possible(text) if shape.kind not in apart_from)
    return next((shape.kind for shape in shapes if shape.pattern.search(text)), "")


def could_begin(text: str, keys: Iterable[str] = ()) -> bool:
    """Whether a secret may begin in the text and go on behind it."""
    return any(_possible(text)) or any(
        text.endswith(key[:length]) for key in known(keys) for length in range(1, len(key))
    )


def secret_spans(
    text: str, keys: Iterable[str] = (), *, lines: bool = False
) -> Iterator[tuple[int, int]]:
    """Where secrets stand in the text, the last first; only those of several `lines` if so told."""
    patterns = [shape.pattern for shape in _possible(text, SHAPES[:1] if lines else SHAPES)]
    patterns += [] if lines else [re.compile(re.escape(key)) for key in known(keys)]
    spans = (match.span() for pattern in patterns for match in pattern.finditer(text))
    return iter(sorted(spans, reverse=True))


def _possible(text: str, shapes: Sequence[Shape] = SHAPES) -> Iterator[Shape]:
    lower = text.lower()
    # Each of its letters and signs is looked for first, which is many times faster.
    there = {each for each in _LETTERS if each in lower}
    return (
        shape
        for shape in shapes
        if any(there.issuperset(needle) and needle in lower for needle in shape.needles)
    )


def _replacement(shape: Shape) -> str:
    keep = r"\g<keep>" if "keep" in shape.pattern.groupindex else ""
    return f"{keep}[redacted: {shape.kind}]"
