from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.kernel.check.cells import CodeCell
from shiro_jupyter.kernel.check.effects import effects

from .files import write


def kinds(*sources: str) -> list[str]:
    cells = [CodeCell(number, source) for number, source in enumerate(sources, 1)]
    return [each.kind for each in effects(cells)]


@pytest.mark.parametrize(
    "source",
    [
        "open('a.txt', 'w').write('x')",
        "open('a.txt', mode='ab')",
        "open(name, how)",
        "from pathlib import Path\nPath('a').open('w')",
        "import gzip\ngzip.open('a.gz', 'wb')",
        "import zipfile\nzipfile.ZipFile('a.zip', 'w')",
        "import pathlib\npathlib.Path('a').write_text('x')",
        "df.to_csv('a.csv')",
        "df.to_csv(path_or_buf='a.csv')",
        "df.to_parquet('a')",
        "df.to_sql('t', engine)",
        "df.write_parquet('a')",
        "df.write.mode('append').saveAsTable('t')",
        "lf.sink_csv('a')",
        "import numpy as np\nnp.save('a.npy', x)",
        "import matplotlib.pyplot as plt\nplt.savefig('a.png')",
        "import pickle\npickle.dump(x, file)",
        "from joblib import dump\ndump(x, 'a')",
        "import os\nos.remove('a')",
        "from os import makedirs\nmakedirs('a')",
        "import shutil\nshutil.rmtree('a')",
        "from shutil import rmtree as gone\ngone('a')",
        "def save():\n    open('a', 'w')",
        "%%writefile a.py\nx = 1",
        "%remember kinds are two",
        "from pathlib import Path\nPath('n.ipynb').rename('/abs/n.ipynb')",
        "from pathlib import Path\np = Path.cwd() / 'a'\np.replace('b')",
        "import pathlib\nfor p in sorted(pathlib.Path('.').glob('*')):\n    p.rename(p.name)",
        "import pathlib as pl\n[p.chmod(0) for p in pl.Path('.').iterdir()]",
        "def f(p: Path):\n    p.with_suffix('.b').hardlink_to(p)",
        "import duckdb\nduckdb.sql(\"COPY t TO '/abs/t.csv'\")",
        "import duckdb\ncon = duckdb.connect()\ncon.execute(f\"-- out\\nCOPY {t} TO '{out}'\")",
        "import duckdb\nduckdb.execute(\"attach 'a.db'\")",
        "import sqlite3\ncon = sqlite3.connect('a.db')\ncon.execute('create table t (a)')",
        "import sqlite3\nsqlite3.connect('a.db').cursor().executemany('insert into t')",
        "made = ' DROP TABLE t'\ncon.execute(made)",
        "con.execute('select 1; delete from t')",
        "from sqlalchemy import text\ncon.execute(text('update t set a = 1'))",
        "spark.sql('CREATE TABLE t AS SELECT 1')",
        "%sql create table t (a int)",
        "%%sql sqlite:///a.db\ninsert into t values (1)",
        "%store x",
    ],
)
def test_what_writes_is_seen(source: str) -> None:
    assert kinds(source) == ["writes"]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import requests\nrequests.get(url)", "network"),
        ("import requests as r\nr.post(url)", "network"),
        ("from requests import get\nget(url)", "network"),
        ("import urllib.request\nurllib.request.urlopen(u)", "network"),
        ("from urllib.request import urlretrieve\nurlretrieve(u)", "network"),
        ("import boto3\ns3 = boto3.client('s3')", "network"),
        ("import pandas as pd\npd.read_csv('https://example.org/a.csv')", "network"),
        ("%pip install polars", "installs"),
        ("!pip install polars", "installs"),
        ("!python -m pip install polars", "installs"),
        ("%conda install x", "installs"),
        ("pip install polars", "installs"),
        ("%%bash\napt-get install -y graphviz", "installs"),
        (
            "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'x'])",
            "installs",
        ),
        ("%%python3\nopen('a', 'w')", "commands"),
        ("%alias tt touch", "commands"),
        ("%rehashx", "commands"),
        ("%run unknown.py", "commands"),
        ("!ls", "commands"),
        ("x = !git status", "commands"),
        ("%%bash\nls", "commands"),
        ("import subprocess\nsubprocess.run(['ls'])", "commands"),
        ("from subprocess import check_output\ncheck_output('ls')", "commands"),
        ("import os\nos.system('ls')", "commands"),
        ("import os\nos.execvp('ls', ['ls'])", "commands"),
    ],
)
def test_what_sends_installs_or_runs_is_seen(source: str, kind: str) -> None:
    assert kinds(source) == [kind]


@pytest.mark.parametrize(
    "source",
    [
        "open('a.txt').read()",
        "open('a.txt', 'rb')",
        "from pathlib import Path\nPath('w').open()",
        "df.to_csv()",
        "df.to_json(orient='records')",
        "df.to_dict(), df.to_numpy()",
        "df.replace('a', 'b').rename(columns={})",
        "'a'.replace('b', 'c')",
        "xs.remove(1)",
        "import pandas as pd\npd.read_csv('data/a.csv')",
        "get('x')",
        "requests = []\nrequests.append(1)",
        "%pip list",
        "%matplotlib inline",
        "%time x = 1",
        "s = '''\nopen('a', 'w')\n'''",
        "# open('a', 'w')",
        "import os\nos.path.join('a', 'b'), os.getcwd()",
        "%shiro write a file",
        "plt.show()",
        "model.save",
        "s.rename('name')",
        "from pathlib import Path\nt = Path('a').read_text().replace('b', 'c')",
        "from pathlib import Path\ndf = pd.read_csv(Path('a')).rename(columns=x).copy(True)",
        "import duckdb\nduckdb.sql('create table t as select 1')",
        "import duckdb\ncon = duckdb.connect()\ncon.execute('create table t (a int)')",
        "import sqlite3\ncon = sqlite3.connect(':memory:')\ncon.execute('create table t (a)')",
        "con.execute('select * from copy_to')",
        "con.sql('create or replace temp view v as select 1')",
        "df.query('update > 5')",
        "%sql select 1",
        "%alias",
        "this is no Python",
    ],
)
def test_what_only_computes_is_not_taken_for_more(source: str) -> None:
    assert kinds(source) == []


def test_what_a_file_does_that_is_run_is_seen(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import requests\nrequests.get('a')")
    (tmp_path / "plain.py").write_text("x = 1")
    write(tmp_path / "other.ipynb", "open('a', 'w')", "%run other.ipynb")
    write(tmp_path / "outer.ipynb", "%run -i 'other.ipynb' 3")
    sources = ("helper", "plain.py", "outer.ipynb", "{name}", "-m tool", "gone.ipynb")
    cells = [CodeCell(number, f"%run {each}") for number, each in enumerate(sources, 1)]
    assert [each.said for each in effects(cells, tmp_path)] == [
        "cell 1 reaches the network: run helper",
        "cell 3 writes or removes: run outer.ipynb",
        "cell 4 runs a command: run {name}",
        "cell 5 runs a command: run -m tool",
        "cell 6 runs a command: run gone.ipynb",
    ]


def test_names_mean_what_cells_above_made_them() -> None:
    assert kinds("import sqlite3, pathlib", "p = pathlib.Path('a')", "p.rename('b')") == ["writes"]
    assert kinds("q = 'drop table t'", "con.execute(q)") == ["writes"]
    memory = "con = sqlite3.connect(':memory:')"
    assert kinds("import sqlite3", memory, "con.execute('drop table t')") == []
    real = "other = sqlite3.connect(name)"
    assert kinds("import sqlite3", memory, real, "con.execute('drop table t')") == ["writes"]


def test_each_is_told_with_its_cell_once_and_tagged_cells_are_passed_over() -> None:
    cells = [
        CodeCell(3, "import requests as r"),
        CodeCell(5, "r.get('a')\nr.get('a')\nopen('b', 'w')"),
        CodeCell(6, "open('c', 'w')", tags=("skip-execution",)),
    ]
    assert [each.said for each in effects(cells)] == [
        "cell 5 reaches the network: r.get('a')",
        "cell 5 writes or removes: open('b', 'w')",
    ]
