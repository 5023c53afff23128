from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shiro_jupyter.core.sessions.running import Running
from shiro_jupyter.core.sessions.session import new_id

MARK = """
import sys
from pathlib import Path
from shiro_jupyter.core.sessions.running import Running
Running(Path(sys.argv[1]), Path("logs")).begin("there")
print("begun", flush=True)
sys.stdin.read()
"""


def test_a_session_runs_from_its_begin_to_its_end(tmp_path: Path) -> None:
    running = Running(tmp_path / "running", tmp_path)
    assert not running.runs("here")
    running.end("here")
    running.begin("here")
    assert running.runs("here") and not running.runs("other")
    running.end("here")
    assert not running.runs("here")


def test_a_session_ends_with_its_process(tmp_path: Path) -> None:
    running = Running(tmp_path, tmp_path)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", MARK, str(tmp_path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout and process.stdout.readline() == b"begun\n"
        assert running.runs("there")
        process.kill()
    assert not running.runs("there")


def test_a_process_that_has_the_same_number_is_another_one(tmp_path: Path) -> None:
    running = Running(tmp_path, tmp_path)
    running.begin("here")
    path = tmp_path / "here.json"
    mark = json.loads(path.read_text())
    path.write_text(json.dumps({**mark, "started": mark["started"] - 60}))
    assert not running.runs("here")
    path.write_text(json.dumps({**mark, "host": "elsewhere"}))
    assert running.runs("here")


@pytest.mark.parametrize("mark", ["", "{", "[]", "null", '{"pid": "x"}', '{"host": 1, "pid": -1}'])
def test_a_broken_mark_is_none(tmp_path: Path, mark: str) -> None:
    (tmp_path / "here.json").write_text(mark)
    assert not Running(tmp_path, tmp_path).runs("here")


def test_a_mark_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    Running(tmp_path / "file", tmp_path).begin("here")
    assert not Running(tmp_path / "file", tmp_path).runs("here")


def test_a_session_is_this_users_by_its_mark_or_its_log(tmp_path: Path) -> None:
    running = Running(tmp_path / "running", tmp_path / "logs")
    killed, logged, foreign = new_id(), new_id(), new_id()
    running.begin(killed)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / f"{logged}.jsonl").touch()
    assert running.knows(killed) and running.knows(logged) and not running.knows(foreign)
    (tmp_path / "x.json").touch()
    assert not running.knows("../x") and not running.knows("")
