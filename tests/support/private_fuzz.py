"""Every tool against a kernel that holds what no model may know, and what then went out.

A *canary* is a name or a value that stands nowhere but in what is private: no request may hold one,
but where the model itself has said it.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.support.kernels import Kernel, running_kernel
from tests.support.strict_endpoint import Reply, ScriptedCall, StrictEndpoint

# One number, however it is written, and what is made of three of them.
NUMBERS = re.compile(
    r"918[,_]?273[,_]?645|9\.18e\+?0?8|9\.182\d*e\+?0?8|275[,_]?482[,_]?0936|2754820936"
)
TEXT = "Vzq7Kx91mQ"
VALUES = re.compile(rf"(?i:{TEXT})|{NUMBERS.pattern}|1987-11-23")
NAMES = re.compile("zqpay|zqpin|zqmail|zqssn", re.IGNORECASE)

# What the person has in the kernel. `orders` is nobody's secret.
SETUP = f"""
import collections, enum, types
import numpy as np, pandas as pd, polars as pl
import shiro_jupyter as shiro
zqpay = pd.DataFrame({{"who": ["{TEXT}a", "{TEXT}b", "{TEXT}c"], "pay": [918273645.5] * 3}})
zqpin_of = {{"{TEXT}d": 918273645, "two": ["{TEXT}e"]}}
alias = zqpay
pays = zqpay["pay"]
total = float(pays.sum())
holder = [zqpay, zqpin_of]
class Team:
    def __init__(self, pay): self.pay, self.zqmail = pay, "{TEXT}f"
    def __repr__(self): return f"Team of {{self.pay}}"
    def _repr_shiro_(self): return f"Team of {{self.pay}}"
team = Team(918273645)
def top(limit=918273645): return zqpay.nlargest(1, "pay").who.iloc[0]
@shiro.tool
def best_paid(above: int = 918273645) -> str:
    "Who is paid best."
    return zqpay.who.iloc[0]
customers = pd.DataFrame({{
    "name": ["ann", "bob", "cy"], "zqmail": ["{TEXT}g", "{TEXT}h", "{TEXT}i"],
    "since": pd.to_datetime(["1987-11-23"] * 3),
}})
people = pl.DataFrame({{"id": [1, 2], "zqssn": ["{TEXT}j", "{TEXT}k"]}})
mails = customers["zqmail"].tolist()
customers["upper"] = customers["zqmail"].str.upper()
row = customers.set_index("zqmail").iloc[0]
grouped = customers.groupby("zqmail").size()
mail = mails[0]
copied = customers.copy()
boxed = {{"one": people.to_pandas()}}
indexed = people.to_pandas().set_index("zqssn")
rows = people.to_dicts()
kept = types.SimpleNamespace(**dict(zip(zqpay.who, zqpay.pay)))
zqpay.to_csv("made.csv")
loaded = pd.read_csv("made.csv")
orders = pd.DataFrame({{"amount": [4.25, 5.5], "region": ["north", "south"]}})
zqpay
"""
# What only the mode without any value is about: all of it is data.
MORE = f"""
level = 918273645
kinds = pl.Series("kind", ["{TEXT}l"], dtype=pl.Enum(["{TEXT}l"]))
words = {{"{TEXT}m": "{TEXT}n"}}
marks = {{"{TEXT}o", 918273645.5}}
grid = np.full(3, 918273645.5)
secret_row = pd.Series([918273645.5], index=["{TEXT}p"], name="{TEXT}q")
"""
CODE = [
    "print(zqpay)", "zqpay", "zqpay.pay.sum()", "alias", "print(pays.tolist())", "total",
    "customers", "print(customers.zqmail.tolist())", "customers.describe(include='all')", "people",
    "import pickle; print(pickle.dumps(zqpay))", "print(zqpay.to_dict())", "zqpay.to_html()",
    "[v for k, v in list(globals().items()) if k.startswith('zq')]", "print(vars())", "locals()",
    "getattr(__import__('__main__'), 'zq' + 'pay')", "get_ipython().user_ns['zqpay']", "%whos",
    "print(eval('zq' + 'pay'))", "exec('print(zq' + 'pay)')", "raise ValueError(zqpay.who[0])",
    "assert total < 0, total", "{}[zqpay.who[0]]", "int(zqpay.who[0])", "zqpay.nothing_like_it",
    "import warnings; warnings.warn(str(zqpay))", "import logging; logging.error(zqpay)",
    "import sys; sys.stdout.write(str(zqpay))", "import sys; print(zqpay, file=sys.stderr)",
    "display(zqpay)", "from IPython.display import HTML; HTML(zqpay.to_html())", "Out", "_", "In",
    "import subprocess; print(subprocess.run(['echo', str(zqpay)], capture_output=True).stdout)",
    "!echo {zqpay}", "%time print(zqpay)", "%%capture said\nprint(zqpay)\n", "said.stdout",
    "import threading, time\nthreading.Timer(0.05, lambda: print(zqpay)).start()\ntime.sleep(0.3)",
    "def show():\n    return zqpay.who[0]\nshow()", "top()", "(lambda: holder)()", "team",
    "str(team)",
    "import matplotlib.pyplot as plt\nplt.plot(pays); plt.title(zqpay.who[0]); plt.show()",
    "x = zqpay.who[0]", "x", "globals()[zqpay.who[0]] = 1", "y = [total]; y",
    "orders['pay'] = total", "orders",
    "import gc; [each for each in gc.get_objects() if type(each).__name__ == 'DataFrame']",
    "np.array(pays)", "f'{total:,.2f}'", "'{0.pay}'.format(team)",
    "type(zqpay.who[0], (Exception,), {})", "raise type(zqpay.who[0], (Exception,), {})",
    "await __import__('asyncio').sleep(0, zqpay)",
    "import asyncio; await asyncio.sleep(0.01); print(total)", "print(row.name, grouped)", "kinds",
    "zqpay.to_csv('out.csv'); open('out.txt', 'w').write(str(zqpay.who[0]))",
    "open('data.csv').read()", "pd.read_csv('data.csv')", "best_paid()",
    "with open('data.csv') as f: print(f.read())", "1/0", "print('fine'",
    "zqpin_of = dict(zqpin_of)",
    "df = zqpay.copy()\ndf2 = df * 1 if False else df.head(1)", "df2", "mails",
    "b = {'a': 1}\nb['c'] = zqpay\nb",
    "class A:\n    def __repr__(self): return zqpay.who[0]\nA()", "a = A(); a",
    "for _ in zqpay.who: print(_)", "print(*map(str, holder))", "del x; print(x)",
    "import sys; sys.last_value", "breakpoint", "input(zqpay.who[0])", "print(orders.pay)",
    "wide = customers.pivot(columns='zqmail', values='name'); wide",
    "pd.get_dummies(customers.zqmail)", "customers.set_index('zqmail').T", "zqpay.who.to_frame().T",
    "orders[mails[0]]", "orders[mail]", "copied['zqmai']", "copied.zqmai", "copied",
    "orders.query('amount > @total')", "people.select(pl.col('zqssn')).to_dicts()",
    "customers.upper", "level", "words", "marks", "grid", "secret_row", "print(level, words)",
    "orders.amount.mean()", "alias.to_csv('o.csv')", "x2 = pd.read_csv('o.csv')", "print(x2)",
    "import duckdb; duckdb.sql('create or replace table t as select * from alias')",
    "import duckdb; x2 = duckdb.sql('select * from t').df()", "np.s = alias.who.tolist()",
    "x2 = np.s", "import os; os.environ['A'] = str(alias.who[0])", "x2 = os.environ['A']",
    "import sys; x2 = str(sys.last_value)",
    "import pickle; x2 = pickle.loads(b'c__main__\\nalias\\n.').who.tolist()",
    "f = orders.agg; f('query', 0, '@al' + 'ias.who', level=4)", "rows", "boxed['one']", "kept",
    "indexed",
]  # fmt: skip
PATHS = ["data.csv", "work.ipynb", "broken.ipynb", "load.py", "notes.txt", "out.csv", "out.txt"]
NAMED = [
    "wide", "copied", "mail", "copied['upper']", "x2", "rows", "boxed['one']", "kept", "indexed",
    "loaded",
    "zqpay", "alias", "pays", "total", "holder", "holder[0]", "zqpin_of", "zqpin_of['two']",
    "team", "team.pay", "team.zqmail", "top", "customers", "customers['zqmail']",
    "customers.zqmail", "customers['upper']", "customers['name']", "people", "people['zqssn']",
    "mails", "mails[0]", "kinds", "row", "grouped", "orders", "x", "y", "df", "b", "a", "level",
    "words", "marks", "grid", "secret_row", "nothing", "best_paid", "said",
]  # fmt: skip


def _all(name: str, key: str, values: list[str], **more: Any) -> list[ScriptedCall]:
    return [ScriptedCall(name, {key: value, **more}) for value in values]


# Of each tool there is, what it is called with. A tool without a line here fails the test.
CALLS: dict[str, list[ScriptedCall]] = {
    "run_python": _all("run_python", "code", CODE),
    "inspect_variable": _all("inspect_variable", "name", NAMED),
    "list_variables": _all("list_variables", "match", ["", "a", "zq"]),
    "read_file": _all("read_file", "path", PATHS),
    "read_many_files": [ScriptedCall("read_many_files", {"files": PATHS})],
    "list_dir": [ScriptedCall("list_dir")],
    "glob": _all("glob", "pattern", ["**/*"]),
    "grep": [
        *_all("grep", "pattern", [".", "[0-9]+", "pay"]),
        *_all("grep", "path", PATHS, pattern="."),
    ],
    "write_file": [ScriptedCall("write_file", {"path": "new.py", "content": "a = 1"})],
    "edit_file": _all("edit_file", "path", PATHS, old_text="9", new_text="8"),
    "multi_edit": _all(
        "multi_edit", "path", PATHS, edits=[{"old_text": "zzz", "new_text": "8"}]
    ),
    "bash": [
        *_all("bash", "command", ["cat data.csv", "cat *.txt *.ipynb; exit 3", "git diff", "ls"]),
        ScriptedCall("bash", {"command": "cat data.csv; sleep 9", "timeout": 1}),
        ScriptedCall("bash", {"command": "cat data.csv", "background": True}),
    ],
    "job_status": [ScriptedCall("job_status", {"id": 1}), ScriptedCall("job_status")],
    "job_stop": [ScriptedCall("job_stop", {"id": 1})],
    "git_status": [ScriptedCall("git_status")],
    "git_diff": [ScriptedCall("git_diff"), *_all("git_diff", "path", PATHS)],
    "git_log": [ScriptedCall("git_log")],
    "git_show": [
        ScriptedCall("git_show", {"ref": "HEAD"}),
        *_all("git_show", "path", PATHS, ref="HEAD"),
    ],
    "git_blame": _all("git_blame", "path", PATHS),
    "todo_write": [ScriptedCall("todo_write", {"todos": []})],
    "ask": [ScriptedCall("ask", {"question": "Which?"})],
    "remember": [ScriptedCall("remember", {"text": "Amounts are in euros in orders."})],
    "recall": _all("recall", "query", ["amounts", "data"]),
    "forget": _all("forget", "text", ["Amounts are in euros in orders."]),
    "session_notes": [ScriptedCall("session_notes", {"op": "show"})],
    "notebook_read": [
        *_all("notebook_read", "path", ["work.ipynb", "broken.ipynb", "data.csv"]),
        ScriptedCall("notebook_read", {"path": "work.ipynb", "cells": "1-9", "outputs": True}),
    ],
    "notebook_edit": [
        ScriptedCall(
            "notebook_edit", {"path": "work.ipynb", "action": "replace", "cell": "1", "source": "1"}
        ),
        ScriptedCall("notebook_edit", {"path": "data.csv", "action": "delete", "cell": "1"}),
    ],
    "notebook_run": _all("notebook_run", "cells", ["1"]),
    "notebook_check": _all("notebook_check", "path", ["work.ipynb", "broken.ipynb"]),
    "best_paid": [ScriptedCall("best_paid"), ScriptedCall("best_paid", {"no": 1})],
}  # fmt: skip


# In the place of a call: a request on the side holds the conversation as one text, with what the
# model said of these names.
SAID = "on the side: zqpay zqpin zqmail zqssn"


@dataclass(frozen=True)
class Mode:
    """`settings` of the project, and what no request may hold under them."""

    settings: str
    canaries: tuple[re.Pattern[str], ...]
    setup: str = SETUP
    files: bool = False  # whether those hold some


MODES = {
    "private": Mode(
        'private = ["zqpay", "ZQPIN_*", "customers.zqmail", "*.zqssn"]', (VALUES, NAMES)
    ),
    "schema_only": Mode("schema_only = true", (VALUES,), SETUP + MORE, files=True),
}


@dataclass
class Told:
    """What the model was told, and what of it was a canary: with the call that brought it out."""

    parts: list[tuple[str, str]] = field(default_factory=list)

    def leaks(self, canaries: tuple[re.Pattern[str], ...]) -> list[str]:
        found = []
        for call, text in self.parts:
            for canary in canaries:
                for match in canary.finditer(text):
                    if canary is not NAMES or match[0].lower() not in call.lower():
                        around = text[max(0, match.start() - 80) : match.end() + 40]
                        found.append(f"{call[:120]} -> …{around}…")
        return list(dict.fromkeys(found))


def told(bodies: list[Any]) -> Told:
    """All that the requests hold, but what the model said; of the person's prompts the first line
    is theirs."""
    seen: dict[str, str] = {}
    result = Told()
    for body in bodies:
        for tool in body.get("tools", ()):
            seen[json.dumps(tool, ensure_ascii=False)] = ""
        calls: dict[str, str] = {}
        aside = "" if body.get("tools") else SAID
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                calls[call["id"]] = f"{call['function']['name']} {call['function']['arguments']}"
            if message["role"] != "assistant":
                text = json.dumps(message.get("content"), ensure_ascii=False)
                seen[text] = calls.get(message.get("tool_call_id", ""), aside)
    result.parts = [(call, text.replace("\\n", "\n")) for text, call in seen.items()]
    return result


# What is nobody's secret comes through, while no code has run that may have touched it.
OPEN = [
    ScriptedCall("run_python", {"code": "print(orders.amount.mean())"}),
    ScriptedCall("inspect_variable", {"name": "orders"}),
]
MEAN, REGION = "4.875", "south"


def plays(rounds: list[list[ScriptedCall]]) -> Callable[[dict[str, Any]], Reply]:
    """A model that makes these calls in its steps, and then says that it is done."""
    left = iter(rounds)

    def reply(body: dict[str, Any]) -> Reply:
        if not body.get("tools"):  # asked on the side
            return Reply("Nothing.")
        return Reply(calls=calls) if (calls := next(left, [])) else Reply("Done.")

    return reply


def shuffled(seed: int, size: int = 8) -> list[list[ScriptedCall]]:
    """Every call of every tool, in an order of this seed, some of them more than once."""
    random = Random(seed)
    calls = [call for each in CALLS.values() for call in each]
    calls += random.choices(CALLS["run_python"] + CALLS["inspect_variable"], k=30)
    random.shuffle(calls)
    return [OPEN, *(calls[at : at + size] for at in range(0, len(calls), size))]


def project(folder: Path, mode: Mode) -> None:
    """A repository with files; in one the person has shown private values, as notebooks do."""
    said = f"{TEXT}r 918273645.5" if mode.files else "7"
    stored = {"output_type": "stream", "name": "stdout", "text": f"{TEXT}s 918273645"}
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "show()"}
    notebook = {"cells": [cell | {"outputs": [stored], "id": "a1"}], "metadata": {}}
    files = {
        "data.csv": f"pay\n{said}\n",
        "notes.txt": said,
        "work.ipynb": json.dumps(notebook | {"nbformat": 4, "nbformat_minor": 5}),
        "broken.ipynb": f'{{"cells": "{TEXT}t',
        "load.py": "orders = read('data.csv')\n",
        ".shiro/config.toml": mode.settings,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    (folder / "data.csv").write_text(f"pay\n{said}\n{said}\n")


def environment(folder: Path, server: StrictEndpoint) -> dict[str, str]:
    return {
        "SHIRO_HOME": str(folder / "home"),
        "SHIRO_BASE_URL": server.base_url,
        "SHIRO_MODEL": "tiny",
        "SHIRO_WINDOW": str(server.window),
        "SHIRO_MODE": "yolo",
        "SHIRO_VIEW": "text",
        "SHIRO_LIVE": "1",
        "SHIRO_ASK_ABOVE": "0",
        "SHIRO_MAX_STEPS": "1000",
    }


@contextmanager
def begun(folder: Path, mode: Mode, environment: Mapping[str, str]) -> Iterator[Kernel]:
    """A kernel in which the person has what is private."""
    project(folder, mode)
    with running_kernel(folder=folder, **environment) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        outputs = kernel.run(mode.setup)
        assert outputs.status == "ok", outputs.messages
        yield kernel


def play(folder: Path, mode: Mode, seed: int) -> tuple[list[Any], str]:
    """The bodies of all requests of a session with these calls, and the session's log."""
    (work := folder / "project").mkdir(parents=True)
    with (
        StrictEndpoint(plays(shuffled(seed)), window=2_000_000) as server,
        begun(work, mode, environment(folder, server)) as kernel,
    ):
        kernel.run("%remember customers and orders belong together")
        for cell in (
            "%shiro go",
            "raise KeyError(zqpay.who[0])",
            "%shiro /fix",
            "%shiro /undo",
            "%shiro @customers @total @data.csv @work.ipynb",
            "%shiro /btw what is it?",
            "%shiro /compact",
            "%shiro and now?",
        ):
            kernel.run(cell, stdin=lambda prompt: "yes", timeout=600)
    server.check()
    log = "".join(path.read_text() for path in (folder / "home").rglob("*.jsonl"))
    return server.bodies, log
