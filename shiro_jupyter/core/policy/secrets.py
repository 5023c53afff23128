"""Shapes of keys and tokens: found in what is stored or sent, and taken out of it."""

from __future__ import annotations

import re

# A shape begins where a word does; in JSON text that may be right behind an escape such as `\n`.
_START = r"(?:(?<=\\[nrtbf])|(?<![A-Za-z0-9_-]))"
_END = r"(?![A-Za-z0-9_-])"

_SHAPES: dict[str, str] = {
    "private key": (
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s:,.()-]|\\[nrt])*?"
        # Its end, or where a torn block stops looking like one.
        r"(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?=[^A-Za-z0-9+/=\s:,.()\\-])|(?=\\(?:[^nrt]|\Z))|\Z)"
    ),
    "JWT": _START + r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
    "API key": _START + r"sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}",
    "GitHub token": _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    "GitLab token": _START + r"gl(?:pat|dt|rt|ptt)-[\w-]{20,}",
    "AWS key": _START + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + _END,
    "Google key": _START + r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})",
    "Slack token": (
        _START
        + r"(?:xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,})"
        + r"|https://hooks\.slack\.com/services/[\w/]{20,}"
    ),
    "Hugging Face token": _START + r"hf_[A-Za-z0-9]{30,}",
    "Stripe key": _START + r"(?:[spr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}",
    "package token": _START + r"(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{40,})",
    "SendGrid key": _START + r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "Databricks token": _START + r"dapi[0-9a-f]{32}",
    "Groq key": _START + r"gsk_[A-Za-z0-9]{30,}",
}
# Shapes where only a part is secret: the group `keep` stays.
_PARTS: dict[str, str] = {
    "token": _START
    + r"(?i:(?P<keep1>(?:bearer|authorization:\s?(?:basic|token))[ \t]{1,4}))"
    + r"(?=[A-Za-z._~+/-]{0,200}[0-9])"
    + r"[A-Za-z0-9._~+/-]{16,}=*",
    "password": r"(?P<keep2>[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'\\]{0,64}:)[^\s/@\"'\\]{3,128}(?=@)",
    "secret": r"(?i:(?P<keep3>(?:api[_-]?key|secret|token|passw(?:or)?d|access[_-]?key)[\"'\\]{0,3}"
    + r"[ \t]{0,4}(?:=|:)[ \t]{0,4}(?:\\?[\"'])?))"
    + r"(?=[A-Za-z_+/=.-]{0,200}[0-9])(?=[0-9_+/=.-]{0,200}[A-Za-z])"
    + r"(?![\w.-]{0,200}[(\[])[A-Za-z0-9_+/=.-]{16,}",
}


def _combined() -> tuple[re.Pattern[str], dict[str, str]]:
    names: dict[str, str] = {}
    pieces = []
    for number, (name, shape) in enumerate((_SHAPES | _PARTS).items()):
        names[f"s{number}"] = name
        pieces.append(f"(?P<s{number}>{shape})")
    return re.compile("|".join(pieces)), names


_PATTERN, _NAMES = _combined()


def redact(text: str) -> str:
    """The text with each secret replaced by `[redacted: its kind]`; JSON text stays JSON."""
    return _PATTERN.sub(_replacement, text)


def looks_secret(text: str) -> str:
    """The kind of the first secret in the text, empty where there is none."""
    match = _PATTERN.search(text)
    return _kind(match) if match else ""


def _replacement(match: re.Match[str]) -> str:
    groups = match.groupdict()
    kept = groups["keep1"] or groups["keep2"] or groups["keep3"] or ""
    return f"{kept}[redacted: {_kind(match)}]"


def _kind(match: re.Match[str]) -> str:
    return next(name for group, name in _NAMES.items() if match[group] is not None)
