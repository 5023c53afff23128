"""Calls that leave the process, by their syntax: files, commands, the network, a database."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Methods of a frame, figure or path that write what their first argument names, or their object.
_WRITING = _words(
    "savefig sink_csv sink_parquet to_clipboard to_csv to_excel to_feather to_hdf to_html to_json "
    "to_latex to_markdown to_orc to_parquet to_pickle to_sql to_stata to_string to_xml write_csv "
    "write_excel write_json write_ndjson write_parquet"
)
_OF_PATHS = _words("mkdir rmdir touch unlink write_bytes write_text")
# Of a path, where it is seen to be one: tables have methods of these names, too.
_OF_SURE_PATHS = _words("chmod hardlink_to rename replace symlink_to")
# Functions of modules, by the names that they are imported under as a rule.
OUTSIDE = {
    "os": "chmod makedirs mkdir popen remove removedirs rename replace rmdir symlink system unlink",
    "shutil": "copy copy2 copyfile copytree make_archive move rmtree unpack_archive",
    "subprocess": "Popen call check_call check_output run",
    "requests": "delete get head patch post put request",
    "httpx": "delete get head patch post put request stream",
    "urllib.request": "urlopen urlretrieve",
    "np": "save savetxt savez savez_compressed",
    "numpy": "save savetxt savez savez_compressed",
    "plt": "savefig",
    "json": "dump",
    "pickle": "dump",
    "joblib": "dump",
    "torch": "save",
}
_CALLS = frozenset(f"{root}.{name}" for root, names in OUTSIDE.items() for name in _words(names))
MAGICS = ("system", "getoutput", "run_line_magic", "run_cell_magic")
# Magics that look, or set up the kernel alone.
_LOOKING = _words(
    "autoreload config history load_ext lsmagic magic matplotlib pdef pdoc pfile pinfo pinfo2 "
    "precision psearch psource pwd quickref reload_ext who who_ls whos xmode"
)
_TARGETS = ("path_or_buf", "path", "buf", "file", "fname")
_IN_MEMORY = _words("StringIO BytesIO")
_QUERIES = _words("execute executemany executescript query raw_sql sql")
_CHANGES_TABLES = re.compile(
    r"\s*(?:alter|attach|copy|create|delete|drop|export|insert|merge|replace|truncate|update|vacuum)\b",
    re.IGNORECASE,
)

Made = Mapping[str, str]  # what names were made by, as far as the code says it: `p` by `Path`


def goes_out(name: str, call: ast.Call, made: Made) -> bool:
    """`name` is that of what is called, in full, empty where it has none."""
    method = call.func if isinstance(call.func, ast.Attribute) else None
    last = method.attr if method else ""
    if name == "open" or last == "open":
        return _writes(call, at=1 if name == "open" else 0)
    if method and last in MAGICS:
        return _maker(method.value, made) == "get_ipython" and magic_of(call, made) not in _LOOKING
    if method and last in _QUERIES:
        return bool(_CHANGES_TABLES.match(_text(call.args[0]) if call.args else ""))
    if method and last in _OF_SURE_PATHS and _maker(method.value, made) == "Path":
        return True
    if name in _CALLS:
        return not any(_is_stream(each, made) for each in call.args)
    targets = [each.value for each in call.keywords if each.arg in _TARGETS]
    to = [*call.args[:1], *targets]
    # With None it gives the text.
    stays = any(_is_stream(each, made) or _is_none(each) for each in to)
    return (last in _WRITING and bool(to) and not stays) or last in _OF_PATHS


def magic_of(call: ast.Call, made: Made) -> str:
    """The name of the magic that a call runs; empty where it runs none."""
    method = call.func
    if not isinstance(method, ast.Attribute) or method.attr not in MAGICS[2:] or not call.args:
        return ""
    return _text(call.args[0]) if _maker(method.value, made) == "get_ipython" else ""


def called(node: ast.expr) -> str:
    """The last name of what a call calls: `Path` of `pathlib.Path("x")`."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def shown(name: str, call: ast.Call) -> str:
    """`df.to_csv`, `!git pull`, `%pip install x`; of a longer chain the last of it."""
    texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
    last = call.func.attr if isinstance(call.func, ast.Attribute) else name
    if last in MAGICS and texts:
        mark = "%" if "magic" in last else "!"
        words = " ".join(str(each) for each in texts[:2]).split()
        return mark + " ".join(words)[:40]
    return name or f"….{last}"


def _maker(node: ast.expr, made: Made) -> str:
    return made.get(node.id, "") if isinstance(node, ast.Name) else called(node)


def _is_stream(node: ast.expr, made: Made) -> bool:
    """What is written to it stays in the process."""
    streams = ("sys.stdout", "sys.stderr")
    return _maker(node, made) in _IN_MEMORY or ast.unparse(node) in streams


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(node: ast.expr) -> str:
    """A text that stands there, or how it begins."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _writes(call: ast.Call, at: int) -> bool:
    """Whether `open` is to write, as far as the mode stands there."""
    given = [each.value for each in call.keywords if each.arg == "mode"]
    mode = given[0] if given else call.args[at] if len(call.args) > at else None
    told = mode.value if isinstance(mode, ast.Constant) else None
    return isinstance(told, str) and bool(set(told) & set("wax+"))
