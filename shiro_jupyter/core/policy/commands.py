"""Shell commands as rules see them: the simple commands inside, and whether we are sure.

Conservative: whatever this does not understand makes the reading uncertain, which costs a
question and never a permission. Nested commands (substitutions, `sh -c`, what `sudo` starts)
are read too, so that a deny finds them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from .launchers import (
    ASSIGNMENT,
    KEYWORDS,
    Words,
    expanded,
    is_known,
    is_open,
    may_be_option,
    nested_scripts,
    renames,
    runs_its_input,
    unwrapped,
)
from .lookers import does_more
from .quoting import TORN, subscript_runs, unescaped

_REDIRECT = re.compile(r"(?:\d*|\{\w+\})(?:&>>?|>>|>\||>&|<<<|<<-?|<>|<&|>|<)")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|\n]")
_SUBSCRIPT = re.compile(r"\w+\[[^\]]*\Z")
# What a backslash takes its meaning from between double quotes; before others it stands.
_QUOTED_ESCAPES = ("$", "`", '"', "\\", "\n")
# A word that is what it says: nothing in it is expanded.
_FIXED = re.compile(
    r"""(?:[^\\'"$`*?\[{]|\\.|[\[{]\Z|\{\}|'[^']*'|\$'(?:[^'\\]|\\.)*'|\$?"(?:[^"\\$`]|\\.)*")*+""",
    re.DOTALL,
)
# Ends at the next opening brace, so that a text full of them is still read in linear time.
_EXPANDS = re.compile(r"\{[^{}]*(?:\}[^\s{]*)?(?:[{,'\"\\]|\.\.)")
_ANSI_QUOTED = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_BACKTICKED = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_DEPTH = 8


@dataclass(frozen=True)
class Reading:
    """The simple commands of a line, quotes resolved, nested ones included; `targets` are the
    files that redirects write or read. `certain`: nothing else can run, and nothing is
    redirected, substituted or assigned. `followed`: each command is named that can run, even
    where its words are not all known: the `loose` ones may be others, more or none. `piped` are
    those that read a pipe, `inputs` what is fed to a command here."""

    commands: tuple[Words, ...]
    targets: tuple[str, ...] = ()
    certain: bool = True
    followed: bool = True
    loose: frozenset[str] = frozenset()
    piped: tuple[Words, ...] = ()
    inputs: tuple[tuple[Words, str], ...] = ()


@lru_cache(256)
def read_command(text: str) -> Reading:
    """Split a shell command into what rules judge one by one."""
    reader = _Reader()
    reader.read(text, 0)
    commands, targets = tuple(reader.commands), tuple(reader.targets)
    fed = frozenset(reader.loose), tuple(reader.piped), tuple(reader.inputs)
    return Reading(commands, targets, reader.certain, reader.followed, *fed)


@dataclass
class _HereDoc:
    """`words` are those of the command that it feeds, still growing when it is met."""

    words: list[str]
    dashed: bool
    end: str = ""
    quoted: bool = False


@dataclass
class _State:
    """Where a pass over some commands stands. `plain`: arithmetic or an array, no commands."""

    plain: bool
    words: list[str] = field(default_factory=list)
    fed: list[str] = field(default_factory=list)
    here: list[_HereDoc] = field(default_factory=list)
    redirect: str = ""
    globbed: bool = False  # a word may turn into an option, by the name of some file
    piped: bool = False
    parens: int = 0
    cases: int = 0


class _Reader:
    """One pass over the text; `commands` grow as they end."""

    def __init__(self) -> None:
        self.commands: list[Words] = []
        self.targets: list[str] = []
        self.loose: set[str] = set()
        self.piped: list[Words] = []
        self.inputs: list[tuple[Words, str]] = []
        self.certain = True
        self.followed = True

    def _lose(self) -> None:
        """From here on we may read something else than the shell does."""
        self.certain = self.followed = False

    def read(self, text: str, depth: int) -> None:
        if re.search(r"[\0-\x08\x0b-\x1f\x7f]|@P\}", text):
            self._lose()
        if TORN.search(text):
            self._lose()
            text = TORN.sub(r"\1", text)
        # The usual ways to write a blank without one.
        if re.search(r"\$\{?IFS\b", text):
            self._lose()
            text = re.sub(r"\$\{IFS[^}]*\}|\$IFS(?:\$\d)?", " ", text)
        self._run(text, 0, depth)

    def _run(
        self, text: str, position: int, depth: int, *, inner: bool = False, plain: bool = False
    ) -> int:
        """Read commands to the end of the text, or of an `inner` part to its closing `)`."""
        if depth > _DEPTH:
            self._lose()
            return len(text)
        state = _State(plain)
        while position < len(text):
            char = text[position]
            if char in " \t":
                position += 1
            elif text.startswith("\\\n", position):  # the line goes on
                position += 2
            elif match := _REDIRECT.match(text, position):
                self._redirect(state, match[0].lstrip("0123456789"))
                position = match.end()
            elif match := _OPERATOR.match(text, position):
                self._end(state, depth)
                position = match.end()
                state.piped = match[0] in ("|", "|&")
                if match[0] == "\n":
                    position = self._here_docs(text, position, state, depth)
            elif char == "(":
                position = self._open(text, position, state, depth)
            elif char == ")":
                if self._closes(state, depth) and inner:
                    self.followed &= not state.here
                    return position
                position += 1
            elif char == "#":
                end = text.find("\n", position)
                position = len(text) if end < 0 else end
            else:
                start = position
                word, position = self._word(text, position, depth)
                self._take(state, text[start:position], word)
        self._end(state, depth)
        if inner:
            self._lose()
        return len(text)

    def _redirect(self, state: _State, operator: str) -> None:
        self.certain = False
        state.redirect = "<" if state.plain else operator
        if state.redirect in ("<<", "<<-"):
            state.here.append(_HereDoc(state.words, operator == "<<-"))

    def _take(self, state: _State, raw: str, word: str) -> None:
        """A whole word: of the command, or of the redirect before it."""
        # An open subscript goes on to its `]`, whatever stands between.
        if subscript_runs(word) or _SUBSCRIPT.match(raw):
            self._lose()
        if state.redirect in ("<<", "<<-"):
            state.here[-1].end = word
            state.here[-1].quoted = bool(set("'\"\\") & set(raw))
        elif state.redirect == "<<<":
            state.fed.append(word)
        elif state.redirect:
            self.targets.append(word)
            self.loose |= set() if _FIXED.fullmatch(raw) else {word}
        else:
            words = expanded(raw, word)
            state.words += words
            for each in words if raw != "[[" else ():
                if not _FIXED.fullmatch(raw if each == word else each):
                    self.loose.add(each)
                    state.globbed |= may_be_option(each)
        state.redirect = ""

    def _open(self, text: str, position: int, state: _State, depth: int) -> int:
        """A subshell, a function, an array or arithmetic."""
        self.certain = False
        array = position > 0 and text[position - 1] == "=" and bool(state.words)
        if not array and not text.startswith("((", position):
            self._end(state, depth)
            state.parens += 1
            return position + 1
        end = self._run(text, position + 1, depth + 1, inner=True, plain=True)
        if not array:
            self._check_arithmetic(text, position + 2, end)
        return end + 1

    def _check_arithmetic(self, text: str, start: int, end: int) -> None:
        """`((` may also begin a subshell in a subshell."""
        self.followed &= text[end - 1 : end + 1] == "))" and not set(";\n") & set(text[start:end])

    def _closes(self, state: _State, depth: int) -> bool:
        """Take a `)`; whether it closes more than was opened in this part."""
        self.certain = False
        pattern = bool(state.cases and not state.parens)
        self._end(state, depth, named=not pattern)
        if state.parens:
            state.parens -= 1
            return False
        return not state.cases

    def _end(self, state: _State, depth: int, *, named: bool = True) -> None:
        words, fed, globbed, piped = state.words, state.fed, state.globbed, state.piped
        state.words, state.fed, state.redirect, state.globbed = [], [], "", False
        if not words:
            return
        state.piped = False
        command = tuple(words)
        self.commands.append(command)
        self.piped += [command] if piped else []
        self.inputs += [(command, each) for each in fed]
        if command[0] in KEYWORDS or ASSIGNMENT.match(command[0]):
            self.certain = False
        for word in command:
            state.cases += (word == "case") - (word == "esac" and state.cases > 0)
            if word not in KEYWORDS or word == "case":
                break
        self.certain &= not does_more(command, fed=globbed) and not is_open(command)
        if named and not state.plain:
            known = all(is_known(form) for form in unwrapped(command) if form)
            self.followed &= known and not renames(command) and not is_open(command)
        if runs_its_input(command):
            self.followed &= bool(fed) or any(here.words is words for here in state.here)
            self.certain = False
            for script in fed:
                self.read(script, depth + 1)
        for script in nested_scripts(command):
            self.certain = False
            self.read(script, depth + 1)

    def _here_docs(self, text: str, position: int, state: _State, depth: int) -> int:
        """Pass over the bodies that begin here; read those that a shell runs."""
        for here in state.here:
            start, joined, last = position, "", len(text)
            begin = start
            while position < len(text):
                end = text.find("\n", position)
                end = len(text) if end < 0 else end
                line, position = joined + text[position:end], min(end + 1, len(text))
                slashes = len(line) - len(line.rstrip("\\"))
                if not here.quoted and slashes % 2 and end < len(text):
                    joined = line[:-1]  # the shell joins lines before it looks for the end
                    continue
                if (line.lstrip("\t") if here.dashed else line) == here.end:
                    last = begin
                    break
                if joined and line.replace("\t", "") == here.end:
                    self._lose()
                joined, begin = "", position
            else:
                self._lose()
            body = text[start:last]
            self.inputs.append((tuple(here.words), body))
            if runs_its_input(tuple(here.words)):
                self.read(body, depth + 1)
            elif not here.quoted:
                self._expansions(body, depth)
        state.here = []
        return position

    def _expansions(self, body: str, depth: int) -> None:
        position = 0
        while position < len(body):
            if body[position] in "$`":
                position = self._expansion(body, position, depth, quoted=True)[1]
            else:
                position += 2 if body[position] == "\\" else 1

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
                word.append("" if escaped == "\n" else escaped or "\\")
                position += 2
            elif char == "'":
                end = text.find("'", position + 1)
                if end < 0:
                    self._lose()
                    end = len(text)
                word.append(text[position + 1 : end])
                position = end + 1
            elif char == '"':
                quoted, position = self._double(text, position + 1, depth)
                word.append(quoted)
            elif char in "$`":
                kept, position = self._expansion(text, position, depth)
                word.append(kept)
            else:
                self.certain &= not (char == "{" and _EXPANDS.match(text, position))
                word.append(char)
                position += 1
        return "".join(word), position

    def _double(self, text: str, position: int, depth: int) -> tuple[str, int]:
        quoted: list[str] = []
        while position < len(text) and text[position] != '"':
            if text[position] == "\\" and text[position + 1 : position + 2] in _QUOTED_ESCAPES:
                quoted.append(text[position + 1 : position + 2].rstrip("\n"))
                position += 2
            elif text[position] in "$`":
                kept, position = self._expansion(text, position, depth, quoted=True)
                quoted.append(kept)
            else:
                quoted.append(text[position])
                position += 1
        if position >= len(text):
            self._lose()
        return "".join(quoted), position + 1

    def _expansion(
        self, text: str, position: int, depth: int, *, quoted: bool = False
    ) -> tuple[str, int]:
        """`$x`, `${x}`, `$(…)`, backticks and `$'…'`: kept as written, what they run is read."""
        following = text[position + 1 : position + 2]
        if text[position] == "$":
            if following == '"':
                return "$" if quoted else "", position + 1
            if (following in ("", "'") and (quoted or not following)) or following.isspace():
                return "$", position + 1
        self.certain = False
        if text[position] == "`":
            end = self._matched(_BACKTICKED, text, position + 1)
            escaped = r"\\([`\\$\"])" if quoted else r"\\([`\\$])"
            self.read(re.sub(escaped, r"\1", text[position + 1 : end]), depth + 1)
            return text[position : end + 1], end + 1
        if following == "'":
            end = self._matched(_ANSI_QUOTED, text, position + 2)
            made, sure = unescaped(text[position + 2 : end])
            if not sure:
                self._lose()
            return made, end + 1
        if following == "(":
            plain = text.startswith("((", position + 1)
            end = self._run(text, position + 2, depth + 1, inner=True, plain=plain)
            if plain:
                self._check_arithmetic(text, position + 3, end)
            return text[position : end + 1], end + 1
        if following == "{":
            end = self._parameter(text, position + 2, depth, quoted)
            return text[position : end + 1], end + 1
        self.followed &= following != "["
        return "$", position + 1

    def _parameter(self, text: str, position: int, depth: int, quoted: bool) -> int:
        """Where a `${…}` ends; `${x:-$(…)}` runs something too."""
        if depth > _DEPTH:
            self._lose()
            return len(text)
        while position < len(text) and text[position] != "}":
            char = text[position]
            if char == '"':
                position = self._double(text, position + 1, depth + 1)[1]
            elif char in "$`":
                position = self._expansion(text, position, depth + 1, quoted=quoted)[1]
            elif char == "'":
                self.followed &= not quoted  # they quote in some of its forms only
                end = -1 if quoted else text.find("'", position + 1)
                position = max(end, position) + 1
            else:
                position += 2 if char == "\\" else 1
        if position >= len(text):
            self._lose()
        return min(position, len(text))

    def _matched(self, inside: re.Pattern[str], text: str, start: int) -> int:
        """Where a quoted part ends; a text that ends before it does is not understood."""
        match = inside.match(text, start)
        end = match.end() if match else start
        if end >= len(text):
            self._lose()
        return end
