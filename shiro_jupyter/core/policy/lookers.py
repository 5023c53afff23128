"""Commands that only look, until an argument has them write a file or run a program.

Whoever allows `find *` or `sort *` has the looking in mind, so such an argument makes the
reading of the command uncertain: a rule for everything, or for this very text, covers it.
"""

from __future__ import annotations

import re
from itertools import pairwise

from .launchers import Words, name_of, unwrapped

# By command: the arguments that do more, behind them the long options, of which any beginning
# counts: GNU and git take that. Short ones stand in a cluster too.
_MORE: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    name: (re.compile(pattern, re.DOTALL), tuple(longs.split()))
    for names, pattern, longs in (
        ("find", r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)", ""),
        ("fd fdfind", r"-[A-Za-z]*[xX].*", "--exec --exec-batch"),
        ("rg", "", "--pre --hostname-bin"),
        ("sort", r"-[A-Za-z]*o.*", "--output --compress-program"),
        ("shuf base64 base32 basenc iconv xmllint", r"-[A-Za-z]*o.*", "--output"),
        ("tree", r"-[A-Za-z]*[oR].*", "--output"),
        ("file", r"-[A-Za-z]*C.*", "--compile"),
        ("date", r"-[uR]*s.*", "--set"),
        ("yq", r"-[A-Za-z]*[isP].*", "--inplace --in-place --split-exp --split-exp-file"),
        ("printf", r"-v.*", ""),
        (
            "git",
            r"-O.*|--filters|ext::.*|!.*",
            "--output --output-directory --ext-diff --textconv --open-files-in-pager --upload-pack"
            " --receive-pack --exec --exec-path --contents --extcmd --config --config-env",
        ),
        ("bat batcat ag ack", "", "--pager --ackrc --output"),
        ("split", "", "--filter"),
        (
            "sqlite3",
            r"\s*\..*|--?init|-A.*|.*(?:\n\s*\.|\b(?:writefile|load_extension|edit)\b).*",
            "",
        ),
        ("mapfile readarray", r"-[A-Za-z]*C.*", ""),
        ("compgen complete", r"-[A-Za-z]*[CWF].*", ""),
        (
            "tar",
            r"-?[A-Za-z]*[FI].*",
            "--to-command --checkpoint-action --use-compress-program --info-script --index-file"
            " --new-volume-script --rsh-command --rmt-command",
        ),
        ("zip", r"-[A-Za-z]*TT.*", "--unzip-command"),
        ("install", "", "--strip-program"),
        ("jobs", r"-[A-Za-z]*x.*", ""),
        ("man", r"-[A-Za-z]*[CPH].*", "--pager --html --config-file"),
        (
            "less",
            r"-[A-Za-z]*[koO].*|\+.*",
            "--log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content",
        ),
        ("sed gsed", r"-[A-Za-z]*[iIf].*", "--in-place --file --line-length"),
        ("awk gawk mawk nawk", r"-[A-EG-Za-uw-z].*|--(?!version|help|csv).*", ""),
    )
    for name in names.split()
}
# Options in full that are the beginning of one of these.
_HARMLESS = frozenset({"--text"})
_UPLOADERS = frozenset({"ls-remote", "clone", "fetch-pack"})
_SHORT_UPLOAD, _SHORT_PAGER = re.compile(r"-[A-Za-z]*u"), re.compile(r"-[A-Za-z]*O")
# What git is told to be set so: `core.sshCommand=…`.
_SETTING = re.compile(r"[A-Za-z][\w-]*\.[^=\s]+(?:=|\Z)")
# Their second operand is a file to write.
_INTO_SECOND = frozenset({"uniq", "xxd"})
_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)"
_PART = r"(?:(?!\1)[^\\\n]|\\.)*"
# Neither `w`, `e` nor a file: what else sed is told.
_SED = re.compile(
    rf"(?:\s*+(?:{_ADDRESS}(?:,\+?{_ADDRESS})?)?[ !]*+"
    rf"(?:[pdqDGHhxNPgnl={{}}]|s([/|#,:@]){_PART}\1{_PART}\1[gpiI\d]*)?+"
    r"[ \t]*+(?:;|\n|\Z|(?<=\{)|(?=\})))*\s*"
)
_SED_LENGTH = 1000
# Output into a file, a command or another machine, and the calls that run one.
_AWK_ACTS = re.compile(r"[>|@]|\bsystem\b")


def does_more(command: Words, *, fed: bool = False) -> bool:
    """Whether a command that is known to look would do more by its arguments. `fed`: some of them
    may be any, since xargs adds them, or a file's name stands for a `*`."""
    for form in filter(None, unwrapped(command)):
        name = name_of(form[0])
        if name in _MORE and (fed or _has_more(name, form)):
            return True
        if name == "git" and _git_does_more(form):
            return True
        if name in _INTO_SECOND and (fed or sum(w[:1] != "-" or w == "-" for w in form[1:]) > 1):
            return True
        if name in ("sed", "gsed") and not all(map(_only_edits, _scripts(form, "l"))):
            return True
        if name.endswith("awk") and any(
            _AWK_ACTS.search(each.replace("||", "")) for each in _scripts(form, "vF")
        ):
            return True
        fed = fed or name in ("xargs", "parallel")
    return False


def begins(word: str, *options: str) -> bool:
    """Whether a word is one of the long options, cut short as it may be."""
    said = word.partition("=")[0]
    return len(said) > 2 and any(option.startswith(said) for option in options)


def _has_more(name: str, form: Words) -> bool:
    pattern, longs = _MORE[name]
    return any(
        word not in _HARMLESS and bool(pattern.fullmatch(word) or begins(word, *longs))
        for word in form[1:]
        if word
    )


def _git_does_more(form: Words) -> bool:
    """A setting for this one call, or a short option that stands for a program."""
    if any(before == "-c" and _SETTING.match(word) for before, word in pairwise(form)):
        return True
    pattern = _SHORT_PAGER if "grep" in form else _SHORT_UPLOAD if _UPLOADERS & set(form) else None
    return any(_SETTING.match(word[2:]) for word in form if word[:2] == "-c") or bool(
        pattern and any(map(pattern.match, form))
    )


def edits_only(form: Words) -> bool:
    """`sed` with scripts that are written here and neither run nor write anything else: with `-i`
    too it changes but the files it is given."""
    named = name_of(form[0]) in ("sed", "gsed")
    apart = any(re.match(r"-[A-Za-z]*(?:f|[iI].*/)|--f|--i.*/", word) for word in form[1:])
    return named and not apart and all(map(_only_edits, _scripts(form, "liI")))


def _only_edits(script: str) -> bool:
    return len(script) <= _SED_LENGTH and _SED.fullmatch(script) is not None


def _scripts(form: Words, valued: str) -> list[str]:
    """What stands behind `-e`, else the first operand. The letters `valued` take what is behind
    them, those of a suffix only there."""
    given, operands, rest = list[str](), list[str](), list(form[1:])
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if match := re.match(r"--e[a-z]*(?:=(.*)|\Z)", word, re.DOTALL):
            given += rest[:1] if match[1] is None else [match[1]]
            rest = rest[1:] if match[1] is None else rest
        elif word[:2] == "--" or word == "-":
            continue
        elif word[:1] != "-":
            operands.append(word)
        elif match := re.match(rf"-[^e{valued}]*([e{valued}])(.*)", word, re.DOTALL):
            given += ([match[2]] if match[2] else rest[:1]) if match[1] == "e" else []
            rest = rest if match[2] or match[1] in "iI" else rest[1:]
    return given or operands[:1]
