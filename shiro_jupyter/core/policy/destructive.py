"""Commands that are plainly destructive: denied in every mode, whatever a person allowed."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from .commands import read_command
from .launchers import Words, name_of, unwrapped
from .names import named
from .variables import filled, values_of

# Folders whose loss takes the machine or the user's whole home with them.
_SYSTEM = named(
    """/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var
    /Applications /Library /System /Users /Volumes"""
)
_HOME = re.compile(r"~[\w-]*|\$HOME|\$\{HOME(?:[:%#][^}]*)?\}")
# Somebody's home, or one's own wherever it is, spelt out.
_HOMES = re.compile(r"/(?:home|Users)/[^/]+")
_GLOBBED = re.compile(r"/(?:[*?.]|\[[!^]?\.\])+")
_DISK = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|disk/by-|md\d|dm-\d|mapper/)"
)
# A bounded name: a long text must not be searched in quadratic time.
_FORK_BOMB = re.compile(r"([\w:.]{1,40})(?:\(\))?\{\1\|\1&\};?\1")
_NAMES = re.compile(
    r"(?<![\w-])(?:rm|shred|dd|wipefs|blkdiscard|mke2fs|mkfs[\w.]*)(?![\w-])|-delete"
)


def names_destruction(command: str) -> bool:
    """Whether a word stands in the text, wherever, that is able to destroy."""
    return bool(_NAMES.search(command))


@lru_cache(256)
def destruction(command: str) -> str:
    """What a shell command would destroy, in words; empty where nothing plainly is."""
    reading = read_command(command)
    if "&" in command and _FORK_BOMB.search(re.sub(r"\s", "", command)):
        return "a fork bomb"
    if any(_DISK.match(posixpath.normpath(target)) for target in reading.targets):
        return "writes over a disk"
    folder, before, values = ".", ".", values_of(reading)
    for words in reading.commands:
        for form in filter(None, unwrapped(words)):
            form = (form[0], *(each for w in form[1:] for each in filled(w, values) or [w]))
            if found := _destroys(form, folder):
                return found
            if name_of(form[0]) in ("cd", "pushd", "popd"):
                to = next((word for word in form[1:] if word[:1] != "-"), "~")
                back = "-" in form[1:] or name_of(form[0]) == "popd"
                folder, before = before if back else _under(folder, to), folder
    return ""


def _under(folder: str, path: str) -> str:
    """Where a path leads from a folder; `..` of `/` is `/`."""
    return path if path[:1] in ("~", "$") else posixpath.normpath(posixpath.join(folder, path))


def _destroys(words: Words, folder: str) -> str:
    """`folder` is where the line went before, as it is written there."""
    command, operands = name_of(words[0]), [word for word in words[1:] if word[:1] != "-"]
    if _is_whole(folder):
        operands = [
            each if each[:1] in ("/", "~", "$") else f"{folder}/{each}" for each in operands
        ]
    whole = [operand for operand in operands if _is_whole(operand)]
    if command == "rm" and whole and _has(words, "rR", "--recursive"):
        return f"removes {whole[0]}"
    if command in ("chmod", "chown", "chgrp") and whole and _has(words, "R", "--recursive"):
        return f"changes the rights of all of {whole[0]}"
    target = words[words.index("-t") + 1 :][:1] if "-t" in words else tuple(operands[-1:])
    moved = operands if command == "shred" else [each for each in operands if each not in target]
    if command in ("mv", "shred") and whole and any(map(_is_whole, moved)):
        return f"takes {whole[0]} away"
    if command == "find" and whole and _finds_and_removes(words):
        return f"removes what is below {whole[0]}"
    if command.startswith("mkfs") or command in ("mke2fs", "wipefs", "blkdiscard"):
        return "wipes a file system"
    written = [word[3:] for word in words if word.startswith("of=")] if command == "dd" else []
    overwritten = operands if command in ("shred", "tee", "cp", "truncate") else written
    if any(_DISK.match(posixpath.normpath(target)) for target in overwritten):
        return "writes over a disk"
    if command == "kill" and words[-1] == "-1" and len(words) > 2:
        return "kills every process of the user"
    return ""


def _is_whole(operand: str) -> bool:
    """`/`, a top-level system folder or a home, also with `/*` behind and dots inside."""
    if home := _HOME.match(operand):
        rest = posixpath.normpath("/" + operand[home.end() :].lstrip("/"))
        # `~user/x` is one folder; a match must end at a slash or at the end.
        if operand[home.end() : home.end() + 1] not in ("", "/"):
            return False
        return rest == "/" or bool(_GLOBBED.fullmatch(rest))
    if not operand.startswith("/"):
        return False
    path = "/" + posixpath.normpath(operand).lstrip("/")
    if _GLOBBED.fullmatch(path):
        return True
    path = re.sub(rf"{_GLOBBED.pattern}$", "", path)
    return path in _SYSTEM or bool(_HOMES.fullmatch(path)) or path == posixpath.expanduser("~")


def _has(words: Words, letters: str, long: str) -> bool:
    """A flag, alone or in a cluster, or its long form and what abbreviates it."""
    for word in words[1:]:
        if word == "--":
            return False
        if word.startswith("--"):
            if len(word) > 4 and long.startswith(word):
                return True
        elif word.startswith("-") and any(letter in word for letter in letters):
            return True
    return False


def _finds_and_removes(words: Words) -> bool:
    if "-delete" in words:
        return True
    runs = [i for i, word in enumerate(words) if word in ("-exec", "-execdir", "-ok", "-okdir")]
    return any(name_of(words[i + 1]) in ("rm", "shred") for i in runs if i + 1 < len(words))
