"""Passwords and keys as people note them: read more strictly than what is only redacted.

What is stored for good is better refused once too often: the person is told, and says where the
secret is kept instead. A result of a tool may not be treated so, since code is full of
`password = …`. What can be told neither from code nor from prose ("the secret is swordfish")
passes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from .secrets import looks_secret

_PASSWORD = (
    r"(?P<name>passwor[dt]|passwd|passphrase|passcode|kennwort|mot de passe|contrase[nñ]a|senha"
    r"|wachtwoord|has[lł]o|пароль|密码|密碼|パスワード|비밀번호"
    r"|(?<![^\W_])(?:pwd|pw)|(?<![^\W_])(?P<short>pass))s?"
)
_SIGN = r"[\"'`]?\s{0,4}(?:=>?|:=?|は|是)\s{0,4}"
_IS = r"\s{1,4}(?:is|was|ist|war|lautete?|est|es|è|é)\b:?\s{1,4}"
_KEY = (
    r"(?<![^\W_])(?P<kind>(?:api|access|secret|auth|account)[ _-]?key|token|secret|key)"
    rf"(?:{_SIGN}|{_IS}|\s{{1,4}})"
)
_WORD = r"[\"'`]?(?P<value>[^\s\"'`,;]{4,200})"
# Where a password is given to a command.
_COMMANDS = tuple(
    map(
        re.compile,
        (
            r"\b(?:curl|wget|https?|xh)\s(?:.{0,200}?\s)?(?:-u|--user|--proxy-user)[ =]?[\"']?"
            r"(?P<user>[^\s:\"']{1,64}):(?P<value>[^\s\"']+)",
            r"\b(?:mysql|mariadb)[\w-]*\s(?:.{0,200}?\s)?-p(?!\d+:\d)(?P<value>[^\s]+)",
            r"\bsshpass\s+-p\s*(?P<value>\S+)",
            r"\bredis-cli\s(?:.{0,200}?\s)?-a\s*(?P<value>\S+)",
            r"\b(?:un)?zip\s(?:.{0,200}?\s)?-P\s*(?P<value>\S+)",
            r"\s-U\s*(?P<user>[^\s%]+)%(?P<value>\S+)",
            r"\s-pass(?:in|out)?\s+pass:(?P<value>\S+)",
            r"\s--(?:[\w-]{0,40}-)?passw(?:or)?d=(?P<value>\S+)",
            r"\becho\s+(?P<value>\S+)\s*\|\s*(?:sudo\s+-S|passwd|docker\s+login)\b",
            r"://(?P<user>[^\s/:@]{0,64}):(?P<value>[^\s/@]{1,128})@",
        ),
    )
)
# Those that are given where a password is shown as well: letters and digits tell them.
_GIVEN = tuple(
    map(
        re.compile,
        (
            r"\s--(?:[\w-]{0,40}-)?passw(?:or)?d\s+[\"']?(?P<value>[^\s\"']+)",
            r"(?<![\w/@])[A-Za-z][\w.-]{0,40}:(?P<value>[^\s/@:]{6,128})@[\w-]",
        ),
    )
)
_NAMED = re.compile(rf"{_PASSWORD}(?:{_SIGN}|{_IS}){_WORD}", re.IGNORECASE)
_NUMBER = re.compile(
    rf"(?:{_PASSWORD}{_SIGN}|(?<![^\W_])pin(?:{_SIGN}|{_IS}))[\"']?\d{{4,12}}[\"']?(?=\s*(?:\Z|[,;.()]))",
    re.IGNORECASE,
)
_KEYED = re.compile(rf"{_KEY}{_WORD}", re.IGNORECASE)

_PLACEHOLDER = re.compile(
    r"[\"']?(?:[$<{\[%].*|\*+|x+|\.+|…|(?:your|my|the)?[-_]?(?:passw(?:or)?d|pass|pwd|pw|secret|token"
    r"|key))[\"']?",
    re.IGNORECASE,
)
_EXAMPLE_USERS = frozenset({"", "user", "username", "name", "login", "usr"})
# A value that is none: code, a variable, a place, an address, a ticket, a measure, a kind of data,
# or how it is kept.
_REFERENCE = re.compile(
    r"[/~.$<{\[%*(].*|.*[(\[].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[a-z]+(?:_[a-z0-9]+)+"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][\w.-]*(?:/[\w.-]+)+/?|\w+://.*|[^@]+@[\w-]+\.[\w.]+"
    r"|[A-Z]{2,8}-\d+|.*-[a-z]+ed"
    r"|\d+-?(?i:chars?|characters?|digits?|letters?|days?|d|h|hours?|weeks?|months?|years?|bytes?"
    r"|bits?|password|fa|x|st|nd|rd|th)"
    r"|(?i:u?int|float|str|string|n?varchar|char|text|utf|latin|iso|base|sha|md|bcrypt|argon|pbkdf"
    r"|scrypt|oauth|aes|rsa|blake|crc|v|q|k|s|db|python)[-_]?\d+[a-z]{0,3}\d?"
)
_ORDINAL = re.compile(
    r"(?:first|second|third|last|next|prev|one|two|multi|single|n|num|max|min)[_-]\Z", re.IGNORECASE
)
_ACCOUNT = re.compile(
    r"(?:user(?:name)?|login|usr|account|admin|root|smtp|ftp|ssh|db)\b", re.IGNORECASE
)
# Keys that are no secrets.
_ROW = re.compile(
    r"(?:public|primary|foreign|partition|sort|cache|row|hash|join|idempotency)[ _-]\Z",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def looks_credential(text: str) -> str:
    """The kind of secret that a text tells, empty where it tells none."""
    text = _plain(text)
    shape = looks_secret(text, apart_from=_READINGS)
    return shape or next((kind for kind, tells in _READINGS.items() if tells(text)), "")


def _plain(text: str) -> str:
    """What is read: no invisible characters, and one form of each other."""
    shown = (each for each in unicodedata.normalize("NFKC", text))
    return "".join(each for each in shown if unicodedata.category(each) != "Cf")


def _is_given(found: re.Match[str]) -> bool:
    value = found["value"].strip("\"'")
    if not _PLACEHOLDER.fullmatch(value):
        return True
    user = found.groupdict().get("user", "")
    return value[:1].isalpha() and user.lower() not in _EXAMPLE_USERS


def _by_command(text: str) -> bool:
    return any(_is_given(found) for shape in _COMMANDS for found in shape.finditer(text))


def _by_name(text: str) -> bool:
    if _NUMBER.search(text):
        return True
    shown = (found for shape in _GIVEN for found in shape.finditer(text))
    return any(_is_password(found["value"]) for found in shown) or any(_named(text))


def _named(text: str) -> Iterator[bool]:
    for found in _NAMED.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        if found["short"] and not _is_of_account(before):
            continue
        pair = re.search(r"user(?:name)?/\Z", before, re.IGNORECASE)
        value = found["value"].partition("/")[2] if pair else found["value"]
        yield _is_password(value)


def _is_of_account(before: str) -> bool:
    """Whether a "pass" is a password, and no run of a program or of a test."""
    if before[-1:] in ("_", "-"):
        return not _ORDINAL.search(before)
    return bool(_ACCOUNT.search(before))


def _is_password(value: str) -> bool:
    value = value.rstrip(".,:)}]")
    if _REFERENCE.fullmatch(value) or _PLACEHOLDER.fullmatch(value) or len(value) < 6:
        return False
    digits, upper, lower = (
        any(map(each, value)) for each in (str.isdigit, str.isupper, str.islower)
    )
    signs = re.search(r"[!@#^&*?+=]", value)
    return (digits and (upper or lower)) or bool(signs and upper and lower)


def _by_key(text: str) -> bool:
    for found in _KEYED.finditer(text):
        value = found["value"].rstrip(".,:)}]")
        plain = found["kind"].lower() == "key"
        if plain and _ROW.search(text, 0, found.start()):
            continue
        if re.fullmatch(r"[0-9a-fA-F]{32,128}", value) or (_UUID.fullmatch(value) and not plain):
            return True
        if len(value) >= 20 and re.fullmatch(r"[A-Za-z0-9+_=-]+", value) and _is_random(value):
            return True
    return False


def _is_random(value: str) -> bool:
    """Capitals, small letters and digits that change all the time."""
    turns = re.findall(r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])", value)
    return len(turns) >= len(value) // 3 and any(map(str.isdigit, value))


_READINGS: dict[str, Callable[[str], bool]] = {
    "password": lambda text: _by_command(text) or _by_name(text),
    "key": _by_key,
}
