"""What git runs of the words it is given, and where its command stands among them."""

from __future__ import annotations

import re
from itertools import pairwise

from .names import named

Words = tuple[str, ...]

# Variables that set what git is to run.
CONFIGURED = re.compile(r"GIT_CONFIG\w*\+?=")
# What `git -c` sets that git runs, and options of its commands that hold a script.
_RUNS = re.compile(
    r"(?:--conf[a-z]*=)?(?:alias\.[\w-]+=!|[\w.*/:-]*(?:command|editor|pager|helper|cmd|program"
    r"|fsmonitor|textconv|process|clean|smudge|driver)=!?)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_ALIAS = re.compile(r"(?:^|\0)(?:-c|--conf[a-z]*=)?alias\.[\w-]+[=\0]([^\0]+)", re.IGNORECASE)
_SCRIPT = re.compile(r"-x|--exe?c?|--[a-z]+-filter|--extc[a-z]*")
_ATTACHED = re.compile(r"-[A-Za-z]*?x(.+)", re.DOTALL)
_INCLUDES = re.compile(r"(?:-c|--conf[a-z]*=)?include(?:if\..*)?\.path=", re.IGNORECASE)
# Options in front of a command, with a value behind and without one.
_VALUED = named(
    """-C -c --git-dir --work-tree --namespace --config-env --shallow-file --attr-source
    --super-prefix --list-cmds"""
)
_BARE = named(
    """-p -P --paginate --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs
    --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice"""
)


_MOST = 8  # options that git does not know, of one command


def commands(words: Words) -> list[Words]:
    """The words without the options between `git` and its command: in both ways where one of them
    may take a value or not. `send-pack` and others push as well."""
    at, starts = 1, list[int]()
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        at += 2 if option in _VALUED else 1
        if option not in _BARE | _VALUED and "=" not in option and option.startswith("--"):
            starts.append(at + 1)
    return [("git", *_usual(list(words[start:]))) for start in (at, *starts[-_MOST:])]


def _usual(rest: list[str]) -> list[str]:
    if rest[:1] in (["send-pack"], ["http-push"]):
        return ["push", *rest[1:]]
    return rest[1:] if rest[:2] in (["subtree", "push"], ["lfs", "push"]) else rest


def launched(words: Words) -> list[Words]:
    if ("bisect", "run") in pairwise(words):
        return [words[words.index("run", words.index("bisect")) + 1 :]]
    if "for-each-repo" in words:
        rest = words[words.index("for-each-repo") + 1 :]
        if "--config" in rest:
            rest = rest[rest.index("--config") + 2 :]
        start = next((at for at, word in enumerate(rest) if word[:1] != "-"), len(rest))
        return [("git", *rest[start:])]
    return []


def is_open(form: Words) -> bool:
    """Whether a setting, and so an alias, comes from a variable or a file."""
    return any(word.startswith("--config-e") or _INCLUDES.match(word) for word in form)


def scripts(form: Words) -> list[str]:
    """What git has a shell run."""
    found = [match[1] for word in form if (match := _RUNS.fullmatch(word))]
    # An alias of a command of git's own, set for this call or for good.
    aliases = _ALIAS.findall("\0".join(form))
    found += [each[1:] if each[0] == "!" else f"git {each}" for each in aliases]
    attached = {"rebase", "difftool"} & set(form)
    for word, following in pairwise((*form, "")):
        option, _, said = word.partition("=")
        if _SCRIPT.fullmatch(option):
            found.append(said or following)
        elif attached and (match := _ATTACHED.fullmatch(word)):
            found.append(match[1])
        elif attached and re.fullmatch(r"-[A-Za-z]+x", word):
            found.append(following)
    if "submodule" in form and "foreach" in form:
        rest = form[form.index("foreach") + 1 :]
        start = next((at for at, word in enumerate(rest) if word[:1] != "-"), len(rest))
        found.append(" ".join(rest[start:]))
    return found
