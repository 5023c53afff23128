from __future__ import annotations

import pytest

from shiro_jupyter.kernel.check.cells import CodeCell
from shiro_jupyter.kernel.check.effects import effects


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
        "this is no Python",
    ],
)
def test_what_only_computes_is_not_taken_for_more(source: str) -> None:
    assert kinds(source) == []


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
