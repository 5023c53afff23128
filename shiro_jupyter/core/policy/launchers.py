"""What a simple command starts in its turn: `sudo env A=1 rm x` ends in `rm x`."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from . import git

Words = git.Words

_RUN = "-n -p -e --name --prefix --cwd --with --python --project --directory --extra --group"
_WITH_RUN = frozenset(
    {"uv", "conda", "mamba", "micromamba", "poetry", "pixi", "pipenv", "pdm", "hatch", "rye"}
)
# Words that run the rest of their line, and their options that take a value of their own.
_LAUNCHERS: dict[str, frozenset[str]] = {
    name: frozenset(valued.split())
    for name, valued in {
        "sudo": "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --role",
        "doas": "-u -C",
        "env": "-u -C --unset --chdir",
        "nice": "-n --adjustment",
        "ionice": "-c -n --class --classdata",
        "timeout": "-s -k --signal --kill-after",
        "stdbuf": "-i -o -e --input --output --error",
        "xargs": "-I -n -P -L -d -a -E -s --max-args --max-procs --delimiter --arg-file",
        "parallel": "-j -n -N -a -I --jobs --max-args --arg-file",
        "flock": "-w -E --timeout --conflict-exit-code",
        "chrt": "-T -P -D",
        "exec": "-a",
        "choom": "-n -p --adjust --pid",
        **dict.fromkeys(("chronic", "linux32", "linux64", "faketime"), "-f"),
        "watch": "-n --interval",
        "time": "-f -o --format --output",
        "strace": "-o -e -p -s -u -E -a -b -I -O -S -P -X --output --trace --user --env",
        "ltrace": "-o -e -p -s -u -a -n -l -x --output",
        "nsenter": "-t -S -G --target --setuid --setgid",
        "unshare": "-S -G -R -w --setuid --setgid --root --wd",
        "systemd-run": "-p -u -E -d -M -H --unit --property --setenv --slice --uid --gid",
        "runuser": "-u -g -G -w --user --group",
        "numactl": "-N -m -i -C -p --cpunodebind --membind --interleave --physcpubind",
        "xvfb-run": "-e -f -n -s -p -w",
        **dict.fromkeys(("mpirun", "mpiexec", "srun"), "-n -np -c -N -p -t -host --hostfile"),
        **dict.fromkeys(("proxychains", "proxychains4"), "-f"),
        **dict.fromkeys(_WITH_RUN, _RUN),
        **dict.fromkeys(("taskset", "setarch", "command", "builtin", "nohup", "setsid"), ""),
        **dict.fromkeys(("busybox", "toybox", "eval", "caffeinate", "chroot", "pkexec"), ""),
        **dict.fromkeys(("unbuffer", "valgrind", "torsocks", "prlimit", "setpriv"), ""),
        **dict.fromkeys(("firejail", "fakeroot", "rlwrap", "dbus-run-session"), ""),
    }.items()
}
# Their first operand is no command: a duration, a file, a folder, a mask, a priority, a machine.
_OPERAND = {
    **dict.fromkeys(("timeout", "flock", "taskset", "chrt", "chroot", "faketime"), re.compile("")),
    "setarch": re.compile(r"x86_64|i\d86|linux\d\d|aarch64|arm|ppc|s390|uname26"),
}
# Those that take a script behind a flag with a `c` in it, and those that join one from words.
_SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "su", "script", "flock", "runuser", "sg"}
    | {"rbash", "mksh", "lksh", "oksh", "posh", "yash", "tcsh", "csh", "xonsh", "nu", "pwsh", "osh"}
)
# Of these, those whose short option takes what is right behind it.
_ATTACHING = frozenset({"su", "script", "flock", "runuser", "sg"})
# Those that run what they read.
_READERS = (_SHELLS - {"flock", "script", "runuser", "sg"}) | {".", "source", "at", "batch"}
# They hand on what they read as the arguments of what they start.
_FEEDING = frozenset({"xargs", "parallel"})
_JOINING = frozenset({"eval", "watch", "parallel"})
KEYWORDS = frozenset(
    {"!", "{", "}", "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "for"}
    | {"case", "esac", "in", "select", "function", "coproc", "[["}
)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
# `{rm,-rf,x}` becomes several words.
_BRACES = re.compile(r"([^\s{}'\"\\$`]*)\{([^{}'\"\\$`]*,[^{}'\"\\$`]*)\}([^\s{}'\"\\$`]*)")
_UNKNOWN = re.compile(r"[$`*?\[\]{}]")
# What a shell reads where it is given no file.
_STREAMS = re.compile(r"|/dev/stdin|(?:/dev/fd|/proc/self/fd)/\d+")
# One program under several names.
_VERSIONED = re.compile(
    r"(i?python|pypy|pip|node|ruby|gem|perl|lua|php|tclsh|easy_install|gcc|clang|bash|java)"
    r"(?:js|-?\d[\d.]*)"
)
_HYPHENATED = re.compile(r"(git|docker)-([a-z][a-z-]*)")
_DEPTH = 8
PYTHON = re.compile(r"(?:i?python|pypy)[\d.]*")


@lru_cache(256)
def name_of(word: str) -> str:
    """`/bin/rm` is `rm`, and so is `RM.exe` where file systems do not care for capitals."""
    return (PurePosixPath(word).name or word).lower().removesuffix(".exe")


def expanded(raw: str, word: str) -> list[str]:
    """The words that a braced word stands for; itself where it has no plain braces."""
    match = _BRACES.fullmatch(raw)
    if not match:
        return [word]
    return [made for each in match[2].split(",") if (made := match[1] + each + match[3])]


def may_become(loose: str, word: str) -> bool:
    """Whether a word with an expansion in it may come to be this one: it keeps what stands before
    and, where it names files, behind."""
    start = _UNKNOWN.search(loose)
    before = loose[: start.start()] if start else loose
    behind = "" if set("$`{") & set(loose) else re.split(r"[*?\]]", loose)[-1]
    return word.startswith(before) and word.endswith(behind)


def may_be_option(loose: str) -> bool:
    """Whether a word with an expansion in it may come to be an option."""
    return loose.startswith("-") or _UNKNOWN.match(loose) is not None


def may_be_flag(loose: str) -> bool:
    """The same, for an option that takes no value: so none that a file's ending stands behind."""
    return may_be_option(loose) and ("." not in loose or bool(set("$`{") & set(loose)))


def is_known(words: Words) -> bool:
    """Whether the command's name is the one that will run, and not made by an expansion."""
    word = words[0]
    if word in KEYWORDS or word == "[" or ASSIGNMENT.match(word):
        return True
    return not ("$(" in word or "`" in word or _UNKNOWN.search(name_of(word)))


def renames(words: Words) -> bool:
    """Whether from here on a name may stand for another command."""
    set_so = "expand_aliases" in words or "extglob" in words
    return set_so or words[:2] in (("hash", "-p"), ("enable", "-f"))


def unwrapped(words: Words) -> list[Words]:
    """The command and all that it launches, outermost first."""
    forms, layer = [words], [words]
    for _ in range(_DEPTH):
        layer = [inner for each in layer for inner in launched(each) if inner]
        forms += layer
    return forms


def launched(words: Words) -> list[Words]:
    """What a launcher, a keyword or an assignment in front starts."""
    if not words:
        return []
    first = name_of(words[0])
    if first in ("case", "for", "select", "[["):
        return []
    if first in ("function", "coproc") and "{" in words[:3]:
        return [words[words.index("{") + 1 :]]
    if first in KEYWORDS or ASSIGNMENT.match(words[0]):
        return [words[1:]]
    if first == "find":
        acts = [at + 1 for at, word in enumerate(words) if re.match(r"-(?:exec|ok)", word)]
        return [words[at : _index(words, ";", at)] for at in acts]
    if first in ("fd", "fdfind"):
        acts = [at + 1 for at, w in enumerate(words) if re.match(r"-[A-Za-z]*[xX]|--exec", w)]
        return [words[at : _index(words, ";", at)] for at in acts]
    if first == "git":
        return git.launched(words)
    if first not in _LAUNCHERS:
        return []
    rest = list(words[1:])
    if first in _WITH_RUN:
        rest = rest[_index(words, "run", 1) :]
    _drop_options(rest, _LAUNCHERS[first])
    if rest and first in _OPERAND and _OPERAND[first].match(rest[0]):
        rest.pop(0)
        _drop_options(rest, _LAUNCHERS[first])
    return [tuple(rest)]


def with_modules(forms: list[Words]) -> list[Words]:
    """`python -m pip install x` and `uv pip install x` are `pip install x` too."""
    return forms + [
        module for form in forms if form for module in [module_of(form)] if module and module[0]
    ]


def plain(form: Words) -> Words:
    """A command by its usual name: `pip3.12` is `pip`, `docker-compose up` is `docker compose up`,
    and `/usr/lib/git-core/git-push` is `git push`."""
    name = name_of(form[0])
    if found := _VERSIONED.fullmatch(name):
        return (found[1], *form[1:])
    if found := _HYPHENATED.fullmatch(name):
        return (found[1], found[2], *form[1:])
    return (name, *form[1:])


def module_of(form: Words) -> Words:
    """`pip install x` of `python -m pip install x`, empty where no module is run."""
    name = name_of(form[0])
    if name == "uv" and form[1:2] == ("pip",):
        return form[1:]
    if PYTHON.fullmatch(name):
        for at, word in enumerate(form[1:], 1):
            if match := re.fullmatch(r"-[A-Za-z]*?m(.*)", word):
                return (match[1], *form[at + 1 :]) if match[1] else form[at + 1 :]
            if not word.startswith("-"):
                break
    return ()


def _index(words: Words, word: str, start: int) -> int:
    return words.index(word, start) if word in words[start:] else len(words)


def _drop_options(rest: list[str], valued: frozenset[str]) -> None:
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if rest and _takes_the_next(option, valued):
            rest.pop(0)


def _takes_the_next(option: str, valued: frozenset[str]) -> bool:
    """`-u x` and `-nu x` do, `-ux` does not."""
    if option.startswith("--"):  # which may be cut short
        return len(option) > 2 and any(each.startswith(option) for each in valued)
    letters = option[1:]
    found = next((at for at, each in enumerate(letters) if f"-{each}" in valued), -1)
    return found >= 0 and found == len(letters) - 1


def nested_scripts(words: Words) -> list[str]:
    """Arguments that a shell, `eval` or `trap`, here or behind a launcher, runs as a script."""
    scripts: list[str] = []
    for form in unwrapped(words):
        first = name_of(form[0]) if form else ""
        if first in _SHELLS:
            scripts += _shell_script(form)
        if first == "sg":
            scripts += [word for word in form[1:] if word[:1] != "-"][1:2]
        if first in _JOINING:
            rest = (launched(form) or [()])[0]
            scripts += rest[1:] if rest[:1] == (":::",) else [" ".join(rest)]
        elif first == "env":
            scripts += _split_strings(form)
        elif first == "git":
            scripts += git.scripts(form)
        elif first == "trap":
            scripts += [word for word in form[1:] if word[:1] != "-"][:1]
    return scripts


def _split_strings(form: Words) -> list[str]:
    """What `env -S` takes apart, with the words behind it."""
    scripts = list[str]()
    for at, word in enumerate(form):
        if split := re.fullmatch(r"(?:-[iv0]*S|--s[a-z-]*(?:=|\Z))(.*)", word, re.S):
            rest = form[at + 1 :] if split[1] else form[at + 2 :]
            said = split[1] or "".join(form[at + 1 : at + 2])
            scripts.append(" ".join((said.replace("\\_", " "), *rest)))
    return scripts


def fed(words: Words) -> list[Words]:
    """Of what `xargs` starts, the commands whose last arguments are not written here."""
    return [
        inner
        for form in unwrapped(words)
        if form and name_of(form[0]) in _FEEDING
        for inner in unwrapped(form)[1:]
    ]


def is_open(words: Words) -> bool:
    """Whether `xargs` hands a launcher what it is to launch, `parallel` runs what it reads, `env`
    undoes escapes, or git is told of a command in another place."""
    for form in unwrapped(words):
        first = name_of(form[0]) if form else ""
        if first == "env" and any(set("\\$") & set(each) for each in _split_strings(form)):
            return True
        if git.CONFIGURED.match(form[0] if form else "") or (first == "git" and git.is_open(form)):
            return True
        if first in ("env", "export") and any(map(git.CONFIGURED.match, form)):
            return True
        if form and name_of(form[0]) in _FEEDING:
            last = unwrapped(form)[-1]
            if name_of(last[0]) != "xargs" and not all(launched(last)):
                return True
            if any(
                script.strip().startswith(_placeholders(form)) for script in _shell_script(last)
            ):
                return True
    return False


def _placeholders(form: Words) -> tuple[str, ...]:
    """What `xargs -I@` puts its input in the place of."""
    return tuple(
        place
        for word, following in pairwise((*form, ""))
        if word.startswith("-I") and (place := word[2:] or following)
    )


def _shell_script(form: Words) -> list[str]:
    """What stands behind `-c`, also where other options come between."""
    if name_of(form[0]) in _ATTACHING:
        attached = (re.fullmatch(r"-[A-Za-z]*?c(.+)", word, re.DOTALL) for word in form)
        if found := [match[1] for match in attached if match]:
            return found
    for at, flag in enumerate(form):
        if flag.startswith("--") and re.match(r"[a-z-]*commands?=", flag):
            return [flag.partition("=")[2]]
        if not re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*|--(?:session-)?commands?|-C[a-z]+", flag):
            continue
        rest = list(form[at + 1 :])
        while rest and rest[0][:1] in ("-", "+"):
            if rest.pop(0) in ("-o", "-O", "+o", "+O"):
                rest = rest[1:]
        return rest[:1]
    return []


def runs_its_input(words: Words) -> bool:
    """A shell, or `source`, that is given no script: it runs what it is fed."""
    for form in unwrapped(words):
        first = name_of(form[0]) if form else ""
        if first not in _READERS or _shell_script(form):
            continue
        operands = [word for word in form[1:] if word[:1] not in ("-", "+")]
        if first in ("su", "at", "batch") or _STREAMS.fullmatch(" ".join(operands)) or "-s" in form:
            return "--version" not in form and "--help" not in form
    return False
