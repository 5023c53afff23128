"""What cells do to the world, as far as their text tells: write, send, install, run commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ...core.errors import UsageError
from ...views.visible import one_line
from .cells import SKIPPED, CodeCell, read_saved
from .meanings import Meanings, dotted
from .source import Magic, read

Kind = Literal["writes", "network", "installs", "commands"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SHOWN = 60  # characters of what does it

_INSTALLERS = {"pip", "conda", "mamba", "micromamba", "uv"}
_INSTALLS = re.compile(
    r"\b(pip3?|conda|mamba|micromamba|uv|apt|apt-get|npm|brew)\b.*\b(install|add)\b"
)
_NETWORK = {
    *("requests", "httpx", "aiohttp", "urllib3", "smtplib", "ftplib", "socket", "websocket"),
    *("boto3", "paramiko", "telnetlib", "xmlrpc", "kaggle", "openai", "anthropic", "wandb"),
}
_SENDING = {"urllib.request", "http.client", "google.cloud", "huggingface_hub"}
_RUNNING = {"subprocess", "os.system", "os.popen", "os.startfile", "pty", "asyncio.subprocess"}
_OF_OS = re.compile(
    r"remove|unlink|renames?|replace|rmdir|removedirs|mkdir|makedirs|truncate|link|symlink|ch(mod|own)"
)
_OF_PATHS = {"write_text", "write_bytes", "unlink", "touch", "rmdir", "mkdir", "symlink_to"}
_SAVES = re.compile(
    r"savefig|imwrite|imsave|save|savez\w*|savetxt|save_model|save_pretrained|write_(csv|parquet|"
    r"ndjson|json|excel|ipc|delta|database|avro|image|html|file)|sink_\w+|saveAs\w+|insertInto|"
    r"to_(sql|gbq|netcdf|zarr|hdf|feather|pickle|parquet|excel|stata|disk)"
)
_TEXT_OR_FILE = {"to_csv", "to_json", "to_html", "to_markdown", "to_latex", "to_string", "to_xml"}
_DUMPS = {"pickle.dump", "joblib.dump", "json.dump", "numpy.save", "shutil", "yaml.dump"}
_OF_A_PATH = {"rename", "replace", "chmod", "lchmod", "hardlink_to"}  # names that others have, too
_OF_A_PATH |= {"copy", "copy_into", "move", "move_into"}
_QUERIES = {"sql", "execute", "executemany", "executescript", "exec_driver_sql", "query", "run"}
_QUERIES |= {"raw_sql", "command"}
_STATEMENT = (
    r"(?:^|;|<<)(?:\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(?:{})\b(?!\s+(?:or\s+replace\s+)?temp(?:orary)?\b)\s+[\w\"'`(\[]"
)
_WRITES_FILES = re.compile(_STATEMENT.format("copy|export|attach"), re.I | re.S)
_WRITES_TABLES = re.compile(
    _STATEMENT.format("create|insert|update|delete|drop|alter|truncate|merge|replace|upsert"),
    re.I | re.S,
)
_SCRIPTS = {"bash", "sh", "script", "system", "sx", "cmd", "perl", "ruby", "!", "sc"}
_SCRIPTS |= {"python", "python2", "python3", "pypy", "rehashx"}  # in a process of their own
_WRITING_MAGICS = {"writefile", "file", "save", "store", "remember", "forget", "logstart", "edit"}


@dataclass(frozen=True)
class Effect:
    cell: int
    kind: Kind
    what: str

    @property
    def said(self) -> str:
        return f"cell {self.cell} {SAID[self.kind]}: {self.what}"


SAID: dict[Kind, str] = {
    "writes": "writes or removes",
    "network": "reaches the network",
    "installs": "installs",
    "commands": "runs a command",
}


def effects(cells: Sequence[CodeCell], folder: Path | None = None) -> tuple[Effect, ...]:
    """From top to bottom, each once a cell. What `%run` runs is read from `folder`. What is called
    in ways that hide its name is not seen, nor what the modules do that are called."""
    return tuple(dict.fromkeys(_effects(cells, Meanings(), folder, frozenset())))


def _effects(
    cells: Sequence[CodeCell], known: Meanings, folder: Path | None, within: frozenset[Path]
) -> Iterator[Effect]:
    """`within` are the files whose `%run` led here."""
    for cell in cells:
        if SKIPPED in cell.tags:
            continue
        code = read(cell.source)
        for magic in code.magics:
            what = one_line(f"{magic.name} {magic.line}".strip(), SHOWN)
            if magic.name == "run":
                kinds = _of_run(magic, known, folder, within)
                yield from (Effect(cell.number, each, what) for each in kinds)
            elif kind := _of_magic(magic):
                yield Effect(cell.number, kind, what)
        if code.tree is None:
            continue
        known.learn(code.tree)
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Call) and (kind := _of_call(node, known)):
                yield Effect(cell.number, kind, one_line(ast.unparse(node), SHOWN))


def _of_run(
    magic: Magic, known: Meanings, folder: Path | None, within: frozenset[Path]
) -> list[Kind]:
    """What the file does that is run; a command where that cannot be read."""
    words = [each.strip("'\"") for each in magic.line.split() if not each.startswith("-")]
    if folder and words and "-m" not in magic.line.split():
        for path in (folder / words[0], folder / f"{words[0]}.py"):
            if path in within:
                return []
            with suppress(OSError, UsageError, ValueError):
                cells = _cells_of(path)
                return [e.kind for e in _effects(cells, known, folder, within | {path})]
    return ["commands"]


def _cells_of(path: Path) -> Sequence[CodeCell]:
    if path.suffix == ".ipynb":
        return read_saved(path).cells
    return [CodeCell(1, path.read_text(encoding="utf-8"))]


def _of_magic(magic: Magic) -> Kind | None:
    text = f"{magic.line}\n{magic.body or ''}"
    if magic.name in _INSTALLERS or _INSTALLS.search(text):
        harmless = magic.name in _INSTALLERS and magic.line.split()[:1] in (["list"], ["show"])
        return None if harmless else "installs"
    if magic.name in _SCRIPTS or (magic.name == "alias" and magic.line.split()):
        return "commands"
    statement = f"{magic.line};{magic.body}"
    if magic.name == "sql" and any(w.search(statement) for w in (_WRITES_FILES, _WRITES_TABLES)):
        return "writes"
    if magic.name in _WRITING_MAGICS and not (magic.name == "store" and "-r" in magic.line):
        return "writes"
    return "writes" if magic.name in ("mkdir", "rm", "rmdir", "mv", "cp") else None


def _of_call(node: ast.Call, known: Meanings) -> Kind | None:
    names, called = known.imported, dotted(node.func)
    first, _, rest = called.partition(".")
    full = ".".join(filter(None, (names.get(first, first), rest)))
    root, last = full.partition(".")[0], called.rpartition(".")[2]
    if _under(full, _RUNNING) or (root == "os" and last.startswith(("exec", "spawn"))):
        return (
            "installs" if _INSTALLS.search(re.sub(r"\W+", " ", ast.unparse(node))) else "commands"
        )
    sends = root in _NETWORK and first in names
    if sends or _under(full, _SENDING) or _reads_address(node, last):
        return "network"
    of_value = "." in called and first not in names  # `Path("x").open("w")`
    if last in ("open", "ZipFile", "File") and _writes_by_mode(node, 0 if of_value else 1):
        return "writes"
    of_os = root == "os" and _OF_OS.fullmatch(last)
    if of_os or last in _OF_PATHS or _under(full, _DUMPS) or _changes(node, full, known):
        return "writes"
    if last in _TEXT_OR_FILE:
        to = [k for k in node.keywords if k.arg in ("path_or_buf", "buf", "path_or_buffer")]
        return "writes" if node.args or to else None
    return "writes" if "." in called and _SAVES.fullmatch(last) else None


def _changes(node: ast.Call, full: str, known: Meanings) -> bool:
    """A file by a method of its path, or a database by a statement."""
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    name = node.func.attr
    if name in _OF_A_PATH and known.is_path(node.func.value):
        return name != "replace" or len(node.args) == 1  # of a text it takes two
    if name not in _QUERIES:
        return False
    statement = known.text(node.args[0])
    if _WRITES_FILES.search(statement):
        return True
    return bool(_WRITES_TABLES.search(statement)) and not known.in_memory(full)


def _under(full: str, known: set[str]) -> bool:
    return any(full == each or full.startswith(f"{each}.") for each in known)


def _reads_address(node: ast.Call, last: str) -> bool:
    first = node.args[0] if node.args else None
    return (
        last.startswith(("read_", "open_", "scan_", "load_"))
        and isinstance(first, ast.Constant)
        and bool(re.match(r"(https?|s3|gs|ftp|abfss?)://", str(first.value)))
    )


def _writes_by_mode(node: ast.Call, at: int) -> bool:
    modes = [each.value for each in node.keywords if each.arg == "mode"] or node.args[at : at + 1]
    if not modes:
        return False
    mode = modes[0]
    if not isinstance(mode, ast.Constant):
        return True
    text = str(mode.value)
    return bool(re.fullmatch(r"[rwaxbt+]{1,4}", text)) and bool(set(text) & set("wax+"))
