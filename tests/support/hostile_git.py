"""A repository that names every helper git can be made to run, each of which leaves a marker."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

# What a config can name; `{evil}/x` leaves the marker `x`.
PROGRAMS = {
    "alias.blame": "!{evil}/alias",
    "alias.config": "!{evil}/alias",
    "alias.diff": "!{evil}/alias",
    "alias.log": "!{evil}/alias",
    "alias.status": "!{evil}/alias",
    "core.alternateRefsCommand": "{evil}/alternates",
    "core.askPass": "{evil}/askpass",
    "core.editor": "{evil}/editor",
    "core.fsmonitor": "{evil}/fsmonitor",
    "core.gitProxy": "{evil}/proxy",
    "core.hooksPath": "{evil}/hooks",
    "core.pager": "{evil}/pager",
    "core.sshCommand": "{evil}/ssh",
    "credential.helper": "!{evil}/credential",
    "diff.conv.textconv": "{evil}/textconv",
    "diff.driver.command": "{evil}/command",
    "diff.external": "{evil}/external",
    "filter.clean.clean": "{evil}/clean",
    "filter.process.process": "{evil}/process",
    "filter.process.required": "true",
    "gpg.program": "{evil}/gpg",
    "gpg.ssh.program": "{evil}/gpg",
    "hook.evil.command": "{evil}/hook",
    "hook.evil.event": "post-index-change",
    "include.path": "{base}/more.cfg",
    "interactive.diffFilter": "{evil}/filter",
    "log.showSignature": "true",
    "merge.driver.driver": "{evil}/merge",
    "pager.diff": "{evil}/pager",
    "pager.log": "{evil}/pager",
    "protocol.ext.allow": "always",
    "remote.evil.promisor": "true",
    "remote.evil.url": "ext::{evil}/promisor",
    "sequence.editor": "{evil}/editor",
    "uploadpack.packObjectsHook": "{evil}/pack",
}
# What makes git look elsewhere, or say things in another form.
MANNERS = {
    "blame.showEmail": "true",
    "color.ui": "always",
    "core.quotePath": "true",
    "core.worktree": "{base}/elsewhere",
    "diff.ignoreSubmodules": "none",
    "diff.mnemonicPrefix": "true",
    "diff.noprefix": "true",
    "diff.relative": "true",
    "diff.submodule": "diff",
    "format.pretty": "%G?",
    "log.date": "relative",
    "status.branch": "false",
    "status.showUntrackedFiles": "no",
    "status.submoduleSummary": "true",
}
# Files that git reads: opening a pipe waits for who writes it.
PIPES = {
    "blame.ignoreRevsFile": "{base}/pipe",
    "core.attributesFile": "{base}/pipe",
    "diff.orderFile": "{base}/pipe",
    "log.mailmap": "true",
    "mailmap.blob": "HEAD:a.py",
    "mailmap.file": "{base}/pipe",
}
ATTRIBUTES = """*.py filter=clean diff=driver merge=driver
*.txt filter=process
*.more filter=more diff=conv
"""
CHANGED = ("a.py", "b.txt", "c.more", "d.md")
# Submodules: a file of the one is changed, the other one has a further commit.
INNER = ("inner", "moved")


@dataclass(frozen=True)
class Hostile:
    """`root` is the project. The last commit is signed; the file `HEAD~2:lost.dat` is missing.

    Of `CHANGED`, all of the old size, the second line has changed.
    """

    base: Path
    root: Path

    @property
    def ran(self) -> set[str]:
        """The helpers that were run."""
        return {path.name for path in (self.base / "ran").iterdir()}

    def environment(self) -> dict[str, str]:
        """A person's, out of which git would run helpers as well."""
        evil = str(self.base / "evil/environment")
        names = "ASKPASS EDITOR EXTERNAL_DIFF PAGER PROXY_COMMAND SSH SSH_COMMAND SEQUENCE_EDITOR"
        traced = {f"GIT_TRACE{each}": str(self.base / "ran/trace") for each in ("", "2", "_SETUP")}
        return {
            **os.environ,
            **{f"GIT_{name}": evil for name in names.split()},
            **traced,
            "GIT_DIR": str(self.base / "elsewhere"),
            "GIT_INDEX_FILE": str(self.base / "elsewhere/a.py"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": evil,
            "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={evil}'",
            "GIT_EXEC_PATH": str(self.base / "evil"),
            "PAGER": evil,
        }


def hostile(base: Path, settings: dict[str, str]) -> Hostile:
    """Made in `base`, with these settings in its config."""
    base = base.resolve()
    (base / "ran").mkdir(parents=True)
    made = Hostile(base, base / "project")
    names = {value.rpartition("/")[2] for value in PROGRAMS.values() if "{evil}" in value}
    for name in (names | {"more", "inner", "environment"}) - {"hooks"}:
        _script(base / "evil" / name, base / "ran" / name)
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout"):
        _script(base / "evil/hooks" / hook, base / "ran/hook")
    (base / "more.cfg").write_text(f'[filter "more"]\n\tclean = {base}/evil/more\n')
    (base / "elsewhere").mkdir()
    for name in ("a.py", "secret.txt"):
        (base / "elsewhere" / name).write_text("of elsewhere\n")
    os.mkfifo(base / "pipe")
    _commits(made)
    for key, value in settings.items():
        git(made.root, "config", key, value.format(evil=base / "evil", base=base))
    (made.root / ".git/info/attributes").write_text(ATTRIBUTES)
    (made.root / ".gitattributes").write_text(ATTRIBUTES)
    for inner in INNER:
        for key in ("core.fsmonitor", "diff.external"):
            git(made.root / inner, "config", key, f"{base}/evil/inner")
    assert not made.ran
    return made


def git(folder: Path, *arguments: str | Path, text: str | None = None) -> str:
    """Plain git, as somebody."""
    named = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    allowed = ("-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", "-C", folder, *named, *allowed, *arguments],
        check=True,
        capture_output=True,
        text=True,
        input=text or "",
        timeout=60,
    )
    return done.stdout.strip()


def _commits(made: Hostile) -> None:
    root = made.root
    for folder in (root, made.base / "other"):
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        for name in ("a.py", "b.txt", "c.more", "d.md", "same.md"):
            (folder / name).write_text("one\ntwo\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "first")
    for inner in INNER:
        git(root, "submodule", "--quiet", "add", made.base / "other", inner)
    (root / "lost.dat").write_text("lost\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "second")
    lost = git(root, "rev-parse", "HEAD:lost.dat")
    git(root, "rm", "-q", "lost.dat")
    git(root, "commit", "-q", "-m", "third")
    (root / "last.md").touch()
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "last")
    (root / ".git/objects" / lost[:2] / lost[2:]).unlink()
    # A signed one on top, which a signature program would be asked about.
    head, _, message = git(root, "cat-file", "commit", "HEAD").partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    commit = git(
        root, "hash-object", "-t", "commit", "-w", "--stdin", text=f"{signed}\n\n{message}\n"
    )
    git(root, "update-ref", "HEAD", commit)
    for inner in INNER:
        (root / inner / "a.py").write_text("new\n")
    git(root / "moved", "commit", "-q", "-a", "-m", "further")
    for name in CHANGED:
        (root / name).write_text("one\nTWO\n")
    os.utime(root / "same.md", (1, 1))  # git will look into it, and write down that it did


def _script(path: Path, marker: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    passes_on = path.name in ("clean", "more")
    path.write_text(f"#!/bin/sh\ntouch {marker}\n{'exec cat' if passes_on else 'exit 1'}\n")
    path.chmod(0o755)
