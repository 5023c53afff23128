"""Where a call reaches: over the network, outside the project, into what is remembered.

A model that has read what others wrote may be led by it. So in a tainted session what could carry
something out, or keep it for later, is not allowed without a person; and what brings the words of
others in taints the session.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import PurePath

from .commands import Reading, read_command
from .kept import code_keeps, is_kept, may_name
from .launchers import (
    ASSIGNMENT,
    KEYWORDS,
    PYTHON,
    Words,
    fed,
    launched,
    module_of,
    name_of,
    nested_scripts,
    runs_its_input,
    unwrapped,
    with_modules,
)
from .lookers import begins, does_more, edits_only
from .names import named
from .subjects import Subject
from .variables import values_of

# What a session is tainted by.
NETWORK, ELSEWHERE = "network", "files outside the project"

_FETCHERS = named(
    """curl wget aria2c http https xh nc ncat netcat socat telnet ssh scp sftp rsync ftp lftp rclone
    mosh ping dig nslookup host whois lynx links w3m elinks youtube-dl yt-dlp sendmail mail mutt
    aws gsutil gcloud az s3cmd s5cmd azcopy b2 kaggle huggingface-cli hf wandb gh glab hub docker
    podman kubectl helm terraform ansible"""
)
# What a tool does with its first word that stays on this machine; all else of it does not.
# What these print is their own report, and no text of others.
_LOCAL: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for names, verbs in {
        "git": "add am apply archive bisect blame branch cat-file check-ignore checkout cherry "
        "cherry-pick clean commit config describe diff format-patch fsck gc grep help init log "
        "ls-files ls-tree merge merge-base mv notes rebase reflog reset restore rev-list rev-parse "
        "revert rm shortlog show show-ref sparse-checkout stash status switch symbolic-ref tag "
        "update-index update-ref version worktree write-tree",
        "pip pip3": "list show freeze check cache debug hash inspect help uninstall",
        "pipx": "list environment uninstall",
        "uv": "run version tree help",
        "conda mamba micromamba": "list info env config run activate deactivate clean remove",
        "poetry pdm pixi pipenv hatch rye": "run show env version check graph",
        "npm yarn pnpm bun": "ls list help",
        "npx bunx uvx": "",
        "twine": "check",
        "cargo gem brew apt apt-get": "list fmt clean help show",
    }.items()
    for name in names.split()
}
_GIT_CONFIG_READS = frozenset(
    {"--get", "--get-all", "--get-regexp", "--list", "-l", "--show-origin", "--show-scope"}
)
_GIT_REMOTE = frozenset({"update", "show", "prune", "set-head"})
_INTERPRETERS = re.compile(
    rf"{PYTHON.pattern}|node|deno|bun|perl|ruby|php|rscript|r|julia|lua|tclsh|pwsh"
)
_MODULES = frozenset({"http.server", "urllib.request", "ftplib", "smtplib", "telnetlib"})
# What code says that speaks to other machines, or has a shell do so.
_SPEAKS = re.compile(
    r"\b(?:https?|ftp|s3|gs|wss?|ssh|abfss?|hf)://|\b(?:urllib|urlopen|httpx|aiohttp|socket|paramiko"
    r"|http\.client|http\.server|ftplib|smtplib|boto3?|botocore|s3fs|gcsfs|websockets?"
    r"|from_pretrained|load_dataset|snapshot_download|hf_hub_download)\b|\bfetch\("
    r"|\bimport\s+requests\b|\brequests\.(?:get|post|put|patch|delete|head|request|Session)\b"
    r"|\b(?:curl|wget|ssh|scp|rsync|nc|aws|gsutil)\s|[%!]\s*(?:pip|conda|mamba)\b"
    r"|\bpip3?['\", ]+(?:install|download)|\bgit['\", ]+(?:clone|fetch|pull|push|ls-remote)\b"
)
_URL = re.compile(r"(?!file:)[A-Za-z][\w+.-]*://")
_SOCKETS = ("/dev/tcp/", "/dev/udp/")
# Commands that only tell of the paths they are given, those that show what stands there, and of
# these the ones whose first operand is no path.
_TELL = named("ls stat du df find which type file cd pushd test [ realpath basename echo wc cmp")
_SHOW = named(
    """cat tac nl head tail less more grep egrep fgrep rg sed awk sort uniq cut paste diff strings
    xxd od hexdump jq yq column base64 zcat"""
)
_PATTERNED = named("grep egrep fgrep rg sed awk jq yq")
# Commands that work on this machine alone; all that is not known does more, for all we know.
_HERE = (
    _TELL
    | _SHOW
    | named(
        """cp mv rm mkdir rmdir touch ln chmod install truncate tee split tr printf true false : pwd
        date sleep seq dirname kill wait exit return break continue set shift local read mapfile
        expr nproc uname id whoami ps free uptime jobs fd fdfind tree comm join fold fmt rev expand
        shuf md5sum sha1sum sha256sum cksum gzip gunzip zip unzip tar dd export pytest ruff mypy
        pyright black isort flake8 pylint"""
    )
)
# Where a command is given by its path: there are those that are installed, and elsewhere any.
_INSTALLED = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[^/]+|(?:\./)?\.?venv/bin/[^/]+")
# Programs act by such variables; by these harmlessly.
_STEERS = re.compile(
    r"(?!CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS|MPLBACKEND|LANG=|LC_|TZ=|NO_COLOR|PYTHONHASHSEED)"
    r"[A-Z_][A-Z_0-9]{2,}\+?="
)
_STREAMS = re.compile(r"/dev/(?:null|std(?:in|out|err)|fd/\d+|tty)")
_ELSEWHERE = re.compile(r"/|~|\$\{?(?:HOME|TMPDIR)\b|[A-Za-z]:[\\/]")
# Commands that write no file that they are given the name of, as far as we know; what a script or a
# test does inside is not ours to say.
_WRITE_NONE = named(
    """printf true false : pwd date sleep seq dirname kill wait exit return break continue set shift
    local read mapfile expr nproc uname id whoami ps free uptime jobs export fd fdfind tree comm
    join fold fmt rev expand shuf md5sum sha1sum sha256sum cksum pytest ruff mypy pyright black
    isort flake8 pylint"""
)
_GIT_WRITES = frozenset({"mv", "rm", "restore", "clean", "apply", "archive", "worktree"})
# Options of local commands that send something, or fetch it.
_SENDS = {"pytest": ("--pastebin", "--tx", "--rsyncdir"), "mypy": ("--install-types",)}
# They bring what they are given into a place that is given last.
_COPIERS = frozenset({"cp", "mv", "ln", "install"})


def reaches_out(subject: Subject) -> bool:
    """Whether the call could carry something out or keep it for later: a question where the
    session is tainted."""
    match subject.access:
        case "memory":
            return True
        case "write":
            return any(is_elsewhere(text) or is_kept(text, word=False) for text in subject.texts)
        case "kernel":
            return any(_SPEAKS.search(text) or code_keeps(text) for text in subject.texts)
        case "shell":
            return any(
                not (reading := read_command(text)).followed
                or bool(_spoken(reading, text))
                or not all(_is_local(form, text) for form in _forms(reading))
                or _writes_elsewhere(reading)
                for text in subject.texts
            )
        case _:
            return False


def taint_of(subject: Subject, ours: Iterable[PurePath] = ()) -> str:
    """What a call that runs brings in of others, empty where nothing. `ours` are folders outside
    the project whose files are this user's or our own."""
    match subject.access:
        case "kernel" if any(map(_SPEAKS.search, subject.texts)):
            return NETWORK
        case "read" if any(is_elsewhere(text) and not _below(text, ours) for text in subject.texts):
            return ELSEWHERE
        case "shell":
            for text in subject.texts:
                reading = read_command(text)
                if "text" in _spoken(reading, text):
                    return NETWORK
                if _shows_elsewhere(reading, ours):
                    return ELSEWHERE
    return ""


def is_elsewhere(path: str) -> bool:
    """Whether a path, as a rule or a shell sees it, leaves the project; it may not be there."""
    if _ELSEWHERE.match(path):
        return not _STREAMS.fullmatch(path)
    return posixpath.normpath(path).split("/")[0] == ".."


def _is_local(form: Words, text: str) -> bool:
    """Whether a command is known to stay on this machine; what it starts is judged itself."""
    name = name_of(form[0])
    if form[0] in KEYWORDS or ASSIGNMENT.match(form[0]):
        return not _STEERS.match(form[0])
    if "/" in form[0] and not _INSTALLED.fullmatch(form[0]):
        return False
    if does_more(form) and not edits_only(form):
        return False
    if name in _LOCAL:
        return _stays(name, form)
    if PYTHON.fullmatch(name):
        code = text if "<<" in text or "|" in text else " ".join(form)
        return not _speaks(form, text) and not code_keeps(code)
    if any(begins(word, *_SENDS.get(name, ())) for word in form[1:]):
        return False
    if name == "tar" and any(re.match(r"[^/]*:", word) for word in form[1:]):
        return False  # an archive on another machine
    if name == "export":
        return not any(map(_STEERS.match, form[1:]))
    return name in _HERE or bool(launched(form) or nested_scripts(form) or runs_its_input(form))


def _below(path: str, folders: Iterable[PurePath]) -> bool:
    return any(PurePath(posixpath.normpath(path)).is_relative_to(folder) for folder in folders)


def _forms(reading: Reading) -> Iterable[Words]:
    return (form for words in reading.commands for form in with_modules(unwrapped(words)) if form)


def _spoken(reading: Reading, text: str) -> set[str]:
    """What a command has to do with other machines: it prints their `text`, or a `report` of its
    own."""
    found = {"text"} if any(each in text for each in _SOCKETS) else set[str]()
    for form in _forms(reading):
        name = name_of(form[0])
        if name in _FETCHERS or (_INTERPRETERS.fullmatch(name) and _speaks(form, text)):
            found.add("text")
        elif name in _LOCAL:
            if not _stays(name, form):
                found.add("report")
        elif name not in _TELL | _SHOW and not ASSIGNMENT.match(form[0]):
            found |= {"text"} if any(map(_URL.search, form[1:])) else set()
    return found


def _speaks(form: Words, text: str) -> bool:
    if module_of(form)[:1] and module_of(form)[0] in _LOCAL:
        return False  # which is judged itself
    return bool(_MODULES & set(form)) or _SPEAKS.search(text) is not None


def _stays(name: str, form: Words) -> bool:
    words = [word for word in form[1:] if word[:1] != "-"]
    if name == "git":
        if "remote" in words:
            return not _GIT_REMOTE & set(words)
        if any(begins(word, "--remote") for word in form):
            return False
        # Behind options of git's own that take a value, such as `-C folder`.
        words = words[1:] if form[1:2] == ("-C",) else words
        if "-c" in form[1:2] or (words[:1] == ["config"] and not _GIT_CONFIG_READS & set(form)):
            return False
    elif any(map(_URL.search, form)):
        return False
    if not words:
        return name != "yarn"  # which installs
    return words[0] in _LOCAL[name]


def _writes_elsewhere(reading: Reading) -> bool:
    """A word that is not known, where a file's name is due, counts as any."""
    moved, values = _leaves(reading), values_of(reading)

    def leaves(word: str, *, whole: str = "") -> bool:
        if (whole or word) not in reading.loose:
            return is_elsewhere(word) or is_kept(word)
        named = may_name(word, values)
        return named is None or any(map(is_elsewhere, named))

    if any(leaves(each) or (moved and not _STREAMS.fullmatch(each)) for each in reading.targets):
        return True
    for form in _forms(reading):
        if form[0] in KEYWORDS or (name_of(form[0]) in _TELL | _SHOW and not does_more(form)):
            continue
        writes = _writes_files(form)
        if moved or any(
            is_elsewhere(part) or is_kept(part) or (writes and leaves(part, whole=whole))
            for whole, part in _parts(form)
        ):
            return True
    return any(map(_writes_files, (each for words in reading.commands for each in fed(words))))


def _writes_files(form: Words) -> bool:
    """Whether a command that stays here may write what it is given the name of; what a launcher
    starts is judged itself."""
    name = name_of(form[0])
    if name == "git":
        return not _GIT_WRITES.isdisjoint(form)
    if name in _LOCAL or PYTHON.fullmatch(name) or launched(form):
        return False
    return not ASSIGNMENT.match(form[0]) and name not in _TELL | _SHOW - {"sed"} | _WRITE_NONE


def _shows_elsewhere(reading: Reading, ours: Iterable[PurePath]) -> bool:
    ours = tuple(ours)
    forms = list(_forms(reading))
    said = [part for form in forms for word in form for part in (word, word.partition("=")[2])]
    said += [word for _, text in reading.inputs for word in text.split()]
    shown = [each for form in forms if name_of(form[0]) in _SHOW for each in _paths(form)]
    brought = [each for form in forms for each in _sources(form)]
    # What stands for a path may stand for any that the line names.
    if any(each in reading.loose and each[:1] in "$`" for each in (*shown, *brought)):
        shown += said
    shows = any(name_of(form[0]) in _SHOW for form in forms)
    return (shows and _goes_elsewhere(reading)) or any(
        is_elsewhere(each) and not _below(each, ours)
        for each in (*shown, *brought, *(reading.targets if shows else ()))
    )


def _sources(form: Words) -> list[str]:
    """What a command brings from where it stands into another place."""
    if name_of(form[0]) == "dd":
        return [word[3:] for word in form if word.startswith("if=")]
    operands = [word for word in form[1:] if word[:1] != "-"]
    return operands[: None if "-t" in form else -1] if name_of(form[0]) in _COPIERS else []


def _leaves(reading: Reading) -> bool:
    """Whether the line goes on in another folder, so that a plain name means a file there."""
    return _goes_elsewhere(reading) or any(
        name_of(form[0]) in ("cd", "pushd")
        and any(is_kept(each) or each in reading.loose for each in form[1:])
        for form in _forms(reading)
    )


def _goes_elsewhere(reading: Reading) -> bool:
    return any(
        name_of(form[0]) in ("cd", "pushd") and any(map(is_elsewhere, form[1:] or ("~",)))
        for form in _forms(reading)
    )


def _paths(form: Words) -> list[str]:
    return [part for _, part in _parts(form)]


def _parts(form: Words) -> list[tuple[str, str]]:
    """What may be a path, with the whole word: each argument, and what stands behind its `=`."""
    words = list(form[1:])
    if name_of(form[0]) in _PATTERNED and "-e" not in words:
        first = next((word for word in words if word[:1] != "-"), None)
        words = [word for word in words if word is not first]
    return [(word, part) for word in words for part in (word, word.partition("=")[2]) if part]
