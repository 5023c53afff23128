"""Shell commands as rules see them: the simple commands inside, and whether we are sure.

Conservative: whatever this does not understand makes the reading uncertain, which costs a
question and never a permission. Nested commands (substitutions, `sh -c`, what `sudo` starts)
are read too, so that a deny finds them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

Words = tuple[str, ...]

# Words that run the rest of their line, and their options that take a value of their own.
LAUNCHERS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"}),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "-C"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "timeout": frozenset({"-s", "-k"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "xargs": frozenset({"-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"}),
    "exec": frozenset({"-a"}),
    "watch": frozenset({"-n"}),
    "time": frozenset({"-f", "-o"}),
    **dict.fromkeys(
        ("command", "builtin", "nohup", "setsid", "busybox", "eval", "caffeinate"),
        frozenset[str](),
    ),
}
# Those that take a script behind a flag with a `c` in it, and those that join one from words.
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "su", "script"})
JOINING = frozenset({"eval", "watch"})
# What makes `find` more than a way to look.
FIND_ACTS = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)")
KEYWORDS = frozenset(
    {"!", "{", "}", "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "for"}
    | {"case", "esac", "in", "select", "function", "coproc", "[["}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_REDIRECT = re.compile(r"\d*(?:&>>?|>>|>\||>&|<<<|<<-?|<>|<&|>|<)")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|\n]")
# What a backslash takes its meaning from between double quotes; before others it stands.
_QUOTED_ESCAPES = ("$", "`", '"', "\\", "\n")
# `{rm,-rf,x}` becomes several words; any other brace expansion is only noticed.
_BRACES = re.compile(r"\{[^{}'\"\\$`]*,[^{}'\"\\$`]*\}")
# Ends at the next opening brace, so that a text full of them is still read in linear time.
_EXPANDS = re.compile(r"\{[^{}]*(?:\}[^\s{]*)?(?:[{,'\"\\]|\.\.)")
_DEPTH = 8


@dataclass(frozen=True)
class Reading:
    """The simple commands of a line, quotes resolved, nested ones included; `targets` are the
    files that redirects write or read. `certain`: nothing else can run, and nothing is
    redirected, substituted or assigned."""

    commands: tuple[Words, ...]
    targets: tuple[str, ...] = ()
    certain: bool = True


def read_command(text: str) -> Reading:
    """Split a shell command into what rules judge one by one."""
    reader = _Reader()
    reader.read(text, 0)
    return Reading(tuple(reader.commands), tuple(reader.targets), reader.certain)


def unwrapped(words: Words) -> list[Words]:
    """The command and what it launches, outermost first: `sudo env A=1 rm x` ends in `rm x`."""
    forms = [words]
    for _ in range(_DEPTH):
        words = _launched(words)
        if not words:
            break
        forms.append(words)
    return forms


def _launched(words: Words) -> Words:
    """What a launcher, a keyword or an assignment in front starts; empty where there is none."""
    if not words:
        return ()
    first = name_of(words[0])
    if first in KEYWORDS or _ASSIGNMENT.match(words[0]):
        return words[1:]
    if first == "find":
        acts = [at for at, word in enumerate(words) if re.match(r"-(?:exec|ok)", word)]
        return words[acts[0] + 1 :] if acts else ()
    if first not in LAUNCHERS:
        return ()
    rest = list(words[1:])
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0])):
        option = rest.pop(0)
        if option in LAUNCHERS[first] and rest:
            rest.pop(0)
    if first == "timeout" and rest:  # its first operand is the duration
        rest.pop(0)
    return tuple(rest)


def name_of(word: str) -> str:
    """`/bin/rm` is `rm`."""
    return PurePosixPath(word).name or word


def nested_scripts(words: Words) -> list[str]:
    """Arguments that a shell or `eval`, here or behind a launcher, will run as a script."""
    scripts: list[str] = []
    for form in unwrapped(words):
        first = name_of(form[0]) if form else ""
        if first in SHELLS:
            for flag, script in pairwise(form):
                if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", flag):
                    scripts.append(script)
        elif first in JOINING:
            scripts.append(" ".join(_launched(form)))
        elif first == "env":
            scripts += [rest for flag, rest in pairwise(form) if flag in ("-S", "--split-string")]
    return scripts


class _Reader:
    """One pass over the text; `commands` grow as they end."""

    def __init__(self) -> None:
        self.commands: list[Words] = []
        self.targets: list[str] = []
        self.certain = True

    def read(self, text: str, depth: int) -> None:
        if depth > _DEPTH:
            self.certain = False
            return
        if re.search(r"[\0-\x08\x0b-\x1f\x7f]", text):
            self.certain = False
        # The usual ways to write a blank without one.
        if re.search(r"\$\{?IFS\b", text):
            self.certain = False
            text = re.sub(r"\$\{IFS[^}]*\}|\$IFS(?:\$\d)?", " ", text)
        words: list[str] = []
        position = 0
        redirected = False
        while position < len(text):
            char = text[position]
            if char in " \t":
                position += 1
            elif text.startswith("\\\n", position):  # the line goes on
                position += 2
            elif operator := _OPERATOR.match(text, position):
                if not redirected and text.startswith("&>", position):
                    position = self._redirect(text, position)
                    redirected = True
                    continue
                self._end(words, depth)
                words, redirected = [], False
                position = operator.end()
            elif char in "()":  # a subshell, an array or a function
                self.certain = False
                self._end(words, depth)
                words, redirected = [], False
                position += 1
            elif char == "#":
                end = text.find("\n", position)
                position = len(text) if end < 0 else end
            elif _REDIRECT.match(text, position):
                position = self._redirect(text, position)
                redirected = True
            else:
                start = position
                word, position = self._word(text, position, depth)
                raw = text[start:position]
                if redirected:
                    self.targets.append(word)
                    redirected = False
                elif _BRACES.fullmatch(raw):
                    words += word[1:-1].split(",")
                else:
                    words.append(word)
        self._end(words, depth)

    def _redirect(self, text: str, position: int) -> int:
        self.certain = False
        match = _REDIRECT.match(text, position)
        return match.end() if match else position + 1

    def _end(self, words: list[str], depth: int) -> None:
        if not words:
            return
        command = tuple(words)
        self.commands.append(command)
        if command[0] in KEYWORDS or _ASSIGNMENT.match(command[0]):
            self.certain = False
        if name_of(command[0]) == "find" and any(map(FIND_ACTS.fullmatch, command)):
            self.certain = False
        for script in nested_scripts(command):
            self.certain = False
            self.read(script, depth + 1)

    def _word(self, text: str, position: int, depth: int) -> tuple[str, int]:
        """One word with its quotes resolved, and where it ends."""
        word: list[str] = []
        while position < len(text):
            char = text[position]
            if char in " \t\n;&|()<>":
                break
            if char == "\\":
                escaped = text[position + 1 : position + 2]
                self.certain &= bool(escaped)
                word.append(escaped if escaped != "\n" else "")
                position += 2
            elif char == "'":
                end = self._closing(text, position + 1, "'")
                word.append(text[position + 1 : end])
                position = end + 1
            elif char == '"':
                quoted, position = self._double(text, position + 1, depth)
                word.append(quoted)
            elif char in "$`":
                expanded, position = self._expansion(text, position, depth)
                word.append(expanded)
            else:
                self.certain &= not (char == "{" and _EXPANDS.match(text, position))
                word.append(char)
                position += 1
        return "".join(word), position

    def _double(self, text: str, position: int, depth: int) -> tuple[str, int]:
        quoted: list[str] = []
        while position < len(text) and text[position] != '"':
            if text[position] == "\\" and text[position + 1 : position + 2] in _QUOTED_ESCAPES:
                quoted.append(text[position + 1].rstrip("\n"))
                position += 2
            elif text[position] in "$`":
                expanded, position = self._expansion(text, position, depth)
                quoted.append(expanded)
            else:
                quoted.append(text[position])
                position += 1
        if position >= len(text):
            self.certain = False
        return "".join(quoted), position + 1

    def _expansion(self, text: str, position: int, depth: int) -> tuple[str, int]:
        """`$x`, `${x}`, `$(…)`, backticks and `$'…'`: kept as written, what they run is read."""
        following = text[position + 1 : position + 2]
        if text[position] == "$" and (following in ("", '"') or following.isspace()):
            return ("$" if following != '"' else ""), position + 1
        self.certain = False
        if text[position] == "`":
            end = self._closing(text, position + 1, "`")
            self.read(text[position + 1 : end].replace("\\`", "`"), depth + 1)
            return text[position : end + 1], end + 1
        if following == "'":
            end = self._closing(text, position + 2, "'")
            return text[position + 2 : end], end + 1
        if following in "({":
            end = self._balanced(text, position + 1, following, ")" if following == "(" else "}")
            inner = text[position + 2 : end]
            # `${x:-$(…)}` may run something too; its own text holds the substitution.
            if following == "(" or "$(" in inner or "`" in inner:
                self.read(inner.partition("$(")[2] if following == "{" else inner, depth + 1)
            return text[position : end + 1], end + 1
        return "$", position + 1

    def _closing(self, text: str, start: int, mark: str) -> int:
        end = text.find(mark, start)
        while mark == "`" and end > 0 and text[end - 1] == "\\":
            end = text.find(mark, end + 1)
        if end < 0:
            self.certain = False
            return len(text)
        return end

    def _balanced(self, text: str, start: int, opening: str, closing: str) -> int:
        depth = 0
        for position in range(start, len(text)):
            if text[position] == opening:
                depth += 1
            elif text[position] == closing:
                depth -= 1
                if not depth:
                    return position
        self.certain = False
        return len(text)
