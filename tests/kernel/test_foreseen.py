"""What code will do is foreseen from its syntax, and no more is claimed than that tells."""

from __future__ import annotations

import pytest

from shiro_jupyter.kernel.foreseen import foreseen

CASES = [
    ("df = df[df.price > 1]\ntotal = df.price.sum()", "Will change df, total"),
    ("x = y", "Will change x"),
    ("print(df.head())\nlen(items)", ""),
    ("df['eur'] = 1; df.loc[0, 'a'] = 2; other.flag = True", "Will change df, other"),
    ("del tmp, items[0]", "Will change tmp, items"),
    ("a, (b, *c) = d = 1, (2, 3)", "Will change a, b, c, d"),
    ("n += 1; m: int = 2; k: int", "Will change n, m"),
    ("import numpy as np, os.path\nfrom re import sub as s", ""),
    ("def f(a):\n    b = a\nclass C:\n    d = 1", "Will change f, C"),
    ("(y := len(x))", "Will change y"),
    ("if a:\n    b = 1\nelse:\n    b = 2", "May change b"),
    ("if a:\n    b = 1\nb = 3", "Will change b"),
    ("for i in items:\n    total += i", "May change i, total"),
    ("while a:\n    b = 1", "May change b"),
    (
        "try:\n    a = 1\nexcept E:\n    b = 2\nfinally:\n    c = 3",
        "Will change c; may change a, b",
    ),
    (
        "items.sort(); new = df.sort('a'); np.append(a, 1); x = items.pop()",
        "Will change new, x; may change items",
    ),
    ("import helpers as h\nh.update()", ""),
    ("with lock as held:\n    a = 1", "Will change held, a"),
    ("match x:\n    case [a, *rest]:\n        b = 1", "May change a, rest, b"),
    ("raise E\na = 1", "May change a"),
    ("items.append(1); cache.update(a=1)", "May change items, cache"),
    ("df.drop(columns='a', inplace=True)", "Will change df"),
    ("df.drop(columns='a', inplace=flag)", ""),
    ("df.a.fillna(0, inplace=True)", "May change df"),
    ("a.b.c = 1; a[0][1] = 2", "May change a"),
    ("f(x).y = 1; f(x)[0] = 2", ""),
    ("[i for i in items if (n := i)]", "May change n"),
    ("f = lambda: items.append(1)", "Will change f"),
    ("a and items.append(1)", "May change items"),
    ("df.to_csv('a.csv')", "Cannot be undone: df.to_csv"),
    ("text = df.to_csv()", "Will change text"),
    ("open('a')\nopen('b', 'r')\nopen(name, mode)", ""),
    ("open('a', 'w').write('x')", "Cannot be undone: open"),
    ("Path('a').open('a')\np.write_text('x')", "Cannot be undone: ….open, p.write_text"),
    (
        "import requests\nr = requests.post(url)",
        "Will change r; cannot be undone: requests.post",
    ),
    ("!git pull", "Cannot be undone: !git pull"),
    ("files = !ls", "Will change files; cannot be undone: !ls"),
    ("%pip install x", "Cannot be undone: %pip install x"),
    ("exec(code)", "Runs code that only shows when it runs"),
    ("from os import *", "Runs code that only shows when it runs"),
    ("await client.fetch(x)\ny = 1", "Will change y"),
    ("%time q = 2", "Will change q"),
    ("%%time\nq = 2\nos.remove('x')", "Will change q; cannot be undone: os.remove"),
    ("%%capture out\nq = 2", "Will change out, q"),
    ("%timeit -n 10 items.sort()", "May change items"),
    ("%time q = (", "Runs code that only shows when it runs"),
    ("%matplotlib inline\ndf?\n%whos", ""),
    ("ip = get_ipython(); ip.system('ls')", "Will change ip; cannot be undone: !ls"),
    ("text = df.to_csv(None); df.to_csv(io.StringIO()); df.to_html(buf=None)", "Will change text"),
    ("b = BytesIO()\nplt.savefig(b); df.to_markdown(buf=b); np.save(b, a)", "Will change b"),
    ("with io.BytesIO() as b:\n    plt.savefig(b)", "Will change b"),
    ("b = BytesIO()\nb = 'x.png'\nplt.savefig(b)", "Will change b; cannot be undone: plt.savefig"),
    ("import json, sys\njson.dump(x, sys.stdout)", ""),
    ("requests.post(url, None)", "Cannot be undone: requests.post"),
    ("if a:\n    raise E\nb = 1", "May change b"),
    ("assert a\nb = 1", "May change b"),
    ("sys.exit()\nb = 1", "May change b"),
    ("with suppress(E):\n    a = 1\nb = 1", "Will change b; may change a"),
    ("while True:\n    f()\nb = 1", "May change b"),
    ("while True:\n    break\nb = 1", "Will change b"),
    ("def f():\n    raise E\nb = 1", "Will change f, b"),
    (
        "class A:\n    y = []\n    y.append(1)\n    df.drop(inplace=True)\n    x.sort()",
        "Will change df, A; may change x",
    ),
    ("import os as o\no.remove('x')", "Cannot be undone: o.remove"),
    ("from shutil import rmtree as rm\nrm('x')", "Cannot be undone: rm"),
    ("df.to_string('out.txt')\ndf.to_string()", "Cannot be undone: df.to_string"),
    ("con.execute('drop table t')\ncon.execute('select 1')", "Cannot be undone: con.execute"),
    ("duckdb.sql(f'copy df to {x}')", "Cannot be undone: duckdb.sql"),
    (
        "Path('x').rename('y')\nnew = df.rename(columns=n)",
        "Will change new; cannot be undone: ….rename",
    ),
    ("p = Path('x')\np.rename('y')", "Will change p; cannot be undone: p.rename"),
    ("for i in range(3):\n    os.remove(f'{i}')", "May change i; cannot be undone: os.remove"),
    ("x = (", ""),
    ("self.system('x')", ""),
    (
        "; ".join(f"n{number} = 1" for number in range(10)),
        "Will change n0, n1, n2, n3, n4, n5, n6, n7 and 2 more",
    ),
]


@pytest.mark.parametrize(("code", "line"), CASES)
def test_one_piece_of_code(code: str, line: str) -> None:
    assert str(foreseen(code)) == (f"{line}." if line else "")


BUILTINS = {"len": len, "range": range, "print": print, "__build_class__": __build_class__}


def test_what_it_says_will_change_does_change() -> None:
    """Each piece above that can be run on its own is run."""
    ran = 0
    for code, _ in CASES:
        names = {"x": "ab", "y": [1], "n": 1, "items": [2, 1], "tmp": 1, "E": OSError, "a": []}
        before = {name: (id(value), repr(value)) for name, value in names.items()}
        try:
            exec(code, {"__builtins__": BUILTINS}, names)
        except Exception:
            continue
        ran += 1
        after = {name: (id(value), repr(value)) for name, value in names.items()}
        for name in foreseen(code).will:
            assert after.get(name) != before.get(name), (name, code)
    assert ran >= 12


def test_code_nested_too_deep_is_not_read() -> None:
    assert str(foreseen("x = " + "(" * 5_000 + "1" + ")" * 5_000)) == ""
    assert str(foreseen("x = " + "+".join(["1"] * 20_000))) in ("", "Will change x.")
