"""What cells do to the world, as far as their text tells: write, send, install, run commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ...views.visible import one_line
from .cells import SKIPPED, CodeCell
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
_SCRIPTS = {"bash", "sh", "script", "system", "sx", "cmd", "perl", "ruby", "!", "sc"}
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


def effects(cells: Sequence[CodeCell]) -> tuple[Effect, ...]:
    """From top to bottom, each once a cell. What is called in ways that hide its name is not
    seen, nor what the modules do that are called."""
    found = dict[Effect, None]()
    names = dict[str, str]()  # what an imported name stands for
    for cell in cells:
        if SKIPPED in cell.tags:
            continue
        code = read(cell.source)
        for magic in code.magics:
            if kind := _of_magic(magic):
                what = one_line(f"{magic.name} {magic.line}".strip(), SHOWN)
                found[Effect(cell.number, kind, what)] = None
        if code.tree is None:
            continue
        names |= dict(_imported(code.tree))
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Call) and (kind := _of_call(node, names)):
                found[Effect(cell.number, kind, one_line(ast.unparse(node), SHOWN))] = None
    return tuple(found)


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.partition(".")[0],
                    alias.name if alias.asname else alias.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _of_magic(magic: Magic) -> Kind | None:
    text = f"{magic.line}\n{magic.body or ''}"
    if magic.name in _INSTALLERS or _INSTALLS.search(text):
        harmless = magic.name in _INSTALLERS and magic.line.split()[:1] in (["list"], ["show"])
        return None if harmless else "installs"
    if magic.name in _SCRIPTS:
        return "commands"
    if magic.name in _WRITING_MAGICS and not (magic.name == "store" and "-r" in magic.line):
        return "writes"
    return "writes" if magic.name in ("mkdir", "rm", "rmdir", "mv", "cp") else None


def _of_call(node: ast.Call, names: dict[str, str]) -> Kind | None:
    called = _dotted(node.func)
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
    if of_os or last in _OF_PATHS or _under(full, _DUMPS):
        return "writes"
    if last in _TEXT_OR_FILE:
        to = [k for k in node.keywords if k.arg in ("path_or_buf", "buf", "path_or_buffer")]
        return "writes" if node.args or to else None
    return "writes" if "." in called and _SAVES.fullmatch(last) else None


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


def _dotted(node: ast.expr) -> str:
    """`a.b.c`; what is called of another value than a name begins with a dot."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{_dotted(value)}.{attr}"
    return ""
