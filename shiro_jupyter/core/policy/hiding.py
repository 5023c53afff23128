"""Commands that may run what a rule is about without being one that we know to.

What a command is told or fed may be code, or a command behind a launcher nobody knows: it is
searched for what is denied, unless the command is known to take it as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from . import git
from .commands import Reading, read_command
from .launchers import (
    ASSIGNMENT,
    KEYWORDS,
    Words,
    fed,
    launched,
    may_become,
    name_of,
    nested_scripts,
    plain,
    runs_its_input,
    unwrapped,
)
from .lookers import does_more, edits_only
from .names import named
from .rules import Rule, Wanted, command_fits, fits_in_any_order, may_fit, wanted_of
from .subjects import Subject

# Commands whose arguments and input are no command, unless one of them has it do more.
_DATA = named(
    """echo printf grep egrep fgrep which type man whatis apropos ls cat test [ export find rg
    sed awk sort head tail wc diff cd pushd mkdir touch rm mv cp ln chmod tee cut tr uniq jq
    column less more nl tac read"""
)
_GIT_DATA = named(
    """add commit tag log show diff status branch checkout switch restore mv rm stash merge notes
    blame shortlog grep"""
)
# Between the words of a command, where code holds it: `["git", "push"]`.
_BETWEEN = re.compile(r"[\s,()\[\]{}-]+")
# How far behind a name the words are looked for that make it the command.
_WINDOW = 200
_MOST = 50  # words of one command that may begin another
_LONGEST = 2_000  # a longer word is code of another kind than a shell's


def may_run(rules: Iterable[Rule], subject: Subject) -> bool:
    """Whether what a rule is about stands in what some command is given, which may be a launcher
    that is not known to be one, an interpreter, or what xargs hands its input to."""
    patterns = {rule.pattern for rule in rules if rule.names(subject) and rule.pattern.strip("* ")}
    return bool(patterns) and any(_names(patterns, read_command(text)) for text in subject.texts)


def _names(patterns: set[str], reading: Reading) -> bool:
    wanted = [wanted_of(pattern.partition("*")[0]) for pattern in patterns]
    launched_with_more = {
        plain(inner)[0] for command in reading.commands for inner in fed(command) if inner
    }
    if any(each.name in launched_with_more for each in wanted):
        return True
    for words in _given(reading):
        text = _bare(words)
        if any(_says(each, text) for each in wanted):
            return True
        if any(_starts(pattern, words, reading.loose) for pattern in patterns):
            return True
    return False


def _says(wanted: Wanted, text: str) -> bool:
    """Whether a text names a command, and behind it on the line, in this order, its words, and its
    flags anywhere; right behind a short option too: `-O'git push'`."""
    name = re.compile(rf"(?<![\w-])(?:-[A-Za-z])?{re.escape(wanted.name)}[\d.]*(?![\w-])")
    for match in name.finditer(text):
        window = text[match.end() : match.end() + _WINDOW]
        line = window.partition("\n")[0]
        if all(_flagged(flag, line) for flag in wanted.flags) and (
            _in_order(wanted.others[1:], line) or _in_order(wanted.others[1:], window, close=True)
        ):
            return True
    return False


def _flagged(flag: str, line: str) -> bool:
    wanted = re.escape(flag) if flag[:1] == "-" else rf"--?\w*{re.escape(flag)}"
    return re.search(rf"(?<![\w-]){wanted}", line, re.IGNORECASE) is not None


def _in_order(words: Words, text: str, *, close: bool = False) -> bool:
    place = 0
    for word in words:
        match = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])").search(text, place)
        if not match or (close and not _BETWEEN.fullmatch(text[place : match.start()])):
            return False
        place = match.end()
    return True


def _starts(pattern: str, words: Words, loose: frozenset[str]) -> bool:
    """Whether a command begins among the words, or in one of them, that the pattern is about."""
    name = wanted_of(pattern).name
    starts = [at for at, word in enumerate(words) if word and plain((word,))[0] == name]
    if len(starts) > _MOST or any(
        fits_in_any_order(pattern, words[at:]) or may_fit(pattern, words[at:], loose)
        for at in starts
    ):
        return True
    scripts = (word for word in words if " " in word and len(word) <= _LONGEST)
    return any(command_fits(pattern, script, "shell") for script in scripts)


def _given(reading: Reading) -> Iterator[Words]:
    """What commands are told or fed that may run it. What is read itself is left out: that which a
    launcher starts, and the scripts of shells."""
    passed = _passes_on(reading)
    for command in reading.commands:
        for form in filter(None, unwrapped(command)):
            if name_of(form[0]) not in KEYWORDS and (passed or not _is_data(form)):
                inner, scripts = launched(form), set(nested_scripts(form))
                own = len(form) - (len(inner[0]) if len(inner) == 1 else 0)
                first = 0 if ASSIGNMENT.match(form[0]) else 1
                yield tuple(word for word in form[first:own] if word not in scripts)
    for command, text in reading.inputs:
        forms = list(filter(None, unwrapped(command)))
        if passed or not (all(map(_is_data, forms)) or runs_its_input(command)):
            yield (text,)


def _bare(words: Words) -> str:
    """Without the quotes and the escapes of what may be code."""
    return re.sub(r"[\\'\"]", "", " ".join(words))


def _is_data(form: Words) -> bool:
    name = name_of(form[0])
    looks = name in _DATA or (
        name == "git" and not _GIT_DATA.isdisjoint(git.commands(form)[0][1:2])
    )
    return looks and (not does_more(form) or edits_only(form))


def _passes_on(reading: Reading) -> bool:
    """Whether data goes on to a command that may run it: by a pipe, or in a file that is written
    and named again."""
    if any(not all(map(_is_data, filter(None, unwrapped(each)))) for each in reading.piped):
        return True
    files = {each.rpartition("/")[2] for each in reading.targets}
    for words in reading.commands:
        data = all(map(_is_data, filter(None, unwrapped(words))))
        if files and not data and any(_may_be(word, files) for word in reading.loose & {*words}):
            return True
        named = {word.rpartition("/")[2] for word in words}
        if not files.isdisjoint(named - {"null", ""}):
            return True
        if name_of(words[0]) == "tee":
            files |= named
    return False


def _may_be(loose: str, files: set[str]) -> bool:
    last = loose.rpartition("/")[2]
    return bool(set("$`{") & set(loose)) or any(may_become(last, each) for each in files)
