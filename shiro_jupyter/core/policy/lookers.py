"""Commands that only look, until an argument has them write a file or run a program.

Whoever allows `find *` or `sort *` has the looking in mind, so such an argument makes the
reading of the command uncertain: a rule for everything, or for this very text, covers it.
"""

from __future__ import annotations

import re

from .launchers import Words, name_of, unwrapped

# By command: the arguments that do more. GNU takes any beginning of a long option, and short
# ones in a cluster.
_MORE: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.DOTALL)
    for names, pattern in {
        "find": r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)",
        "fd fdfind": r"-[A-Za-z]*[xX].*|--exec.*",
        "rg": r"--(?:pre|hostname-bin)(?:=.*)?",
        "sort": r"-[A-Za-z]*o.*|--o.*|--co.*",
        "shuf base64 base32 basenc iconv xmllint": r"-[A-Za-z]*o.*|--o.*",
        "tree": r"-[A-Za-z]*[oR].*|--output.*",
        "file": r"-[A-Za-z]*C.*|--co.*",
        "date": r"-[uR]*s.*|--s.*",
        "yq": r"-[A-Za-z]*[isP].*|--(?:in-?place|split).*",
        "printf": r"-v.*",
        "git": r"--ou.*|--ext-d.*|--textc.*|-O.*|--open.*|--upload-p.*|--receive-p.*|--exec.*"
        r"|--filters|--conte.*|--extc.*|ext::.*|!.*",
        "bat batcat ag ack": r"--page.*|--ackrc.*",
        "split": r"--f.*",
        "sqlite3": r"\s*\..*|-init|.*(?:\n\s*\.|\b(?:writefile|load_extension|edit)\b).*",
        "mapfile readarray": r"-[A-Za-z]*C.*",
        "compgen complete": r"-[A-Za-z]*[CWF].*",
        "tar": r"-?[A-Za-z]*[FI].*|--(?:to-c|che|u|i|inf|new|rs|rm).*",
        "man": r"-[A-Za-z]*[PH].*|--(?:pag|htm).*",
        "less": r"-[A-Za-z]*[oO].*|--(?:log|LOG).*|\+.*",
        "sed gsed": r"-[A-Za-z]*[iIf].*|--(?:in|fi|l).*",
        "awk gawk mawk nawk": r"-[A-EG-Za-uw-z].*|--(?!version|help|csv).*",
    }.items()
    for name in names.split()
}
_UPLOADERS = frozenset({"ls-remote", "clone", "fetch-pack"})
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
        if name in _MORE and (fed or any(map(_MORE[name].fullmatch, form[1:]))):
            return True
        if name == "git" and _UPLOADERS & set(form) and any(w[:2] == "-u" for w in form):
            return True  # there the short form of --upload-pack
        if name in _INTO_SECOND and (fed or sum(w[:1] != "-" or w == "-" for w in form[1:]) > 1):
            return True
        if name in ("sed", "gsed") and not all(map(_only_edits, _scripts(form, "-l"))):
            return True
        if name.endswith("awk") and any(
            _AWK_ACTS.search(each.replace("||", "")) for each in _scripts(form, "-v", "-F")
        ):
            return True
        fed = fed or name in ("xargs", "parallel")
    return False


def edits_only(form: Words) -> bool:
    """`sed` with scripts that are written here and neither run nor write anything else: with `-i`
    too it changes but the files it is given."""
    named = name_of(form[0]) in ("sed", "gsed")
    from_file = any(re.match(r"-[A-Za-z]*f|--f", word) for word in form[1:])
    return named and not from_file and all(map(_only_edits, _scripts(form, "-l")))


def _only_edits(script: str) -> bool:
    return len(script) <= _SED_LENGTH and _SED.fullmatch(script) is not None


def _scripts(form: Words, *valued: str) -> list[str]:
    """What stands behind `-e`, else the first operand."""
    given, operands, rest = list[str](), list[str](), list(form[1:])
    while rest:
        word = rest.pop(0)
        if match := re.match(r"(?:-[A-Za-z]*?e|--e[a-z]*=?)(.*)", word, re.DOTALL):
            given += [match[1]] if match[1] else rest[:1]
            rest = rest if match[1] else rest[1:]
        elif word in valued:
            rest = rest[1:]
        elif word[:1] != "-":
            operands.append(word)
    return given or operands[:1]
