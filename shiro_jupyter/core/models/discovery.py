"""Model servers that already run on this machine, and what a server says it serves.

A port of loopback is open to every user of a machine, so a server counts as found only where
its socket is known to belong to this user. No key is ever sent, and no proxy asked.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from ..workspace.threads import in_thread
from . import local_http

# Ollama; LM Studio; llama.cpp; vLLM.
PORTS = (11434, 1234, 8080, 8000)
SECONDS = 0.3  # for one server to answer in
NAME_LENGTH = 200
# Where servers say how many tokens they take: vLLM, OpenRouter, Groq, LM Studio.
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")
# Parts of the names of models that do not converse.
_OTHER_KINDS = ("embed", "rerank", "whisper", "tts-", "dall-e", "moderation", "transcribe")


@dataclass(frozen=True)
class Served:
    """A model by its name at the server; `window` is in tokens, 0 where the server is silent."""

    name: str
    window: int = 0


@dataclass(frozen=True)
class Found:
    """A server of this user; `models` is never empty."""

    base_url: str
    models: tuple[Served, ...]


async def discover(
    ports: Iterable[int] = PORTS,
    *,
    seconds: float = SECONDS,
    is_ours: Callable[[int], bool] | None = None,
) -> tuple[list[Found], list[str]]:
    """Servers of this user in the order of `ports`, and a sentence for each other server.

    Ports are looked at all at once, `seconds` each. Whatever is no model list is passed over.
    """
    ports = tuple(ports)
    answers = await asyncio.gather(*(_models_at(port, seconds) for port in ports))
    found, notices = [], []
    for port, models in zip(ports, answers, strict=True):
        if not models:
            continue
        url = f"http://{local_http.HOST}:{port}/v1"
        if await in_thread(is_ours or is_served_by_user, port):
            found.append(Found(url, models))
        else:
            notices.append(
                f"A model server answers at {url}, but it is not known to be yours; "
                "if you trust it, choose it with %shiro /connect."
            )
    return found, notices


def is_served_by_user(port: int) -> bool:
    """Whether a process of this user is seen to listen on this port of loopback. Blocks."""
    return any(listens(process, port) for process in psutil.process_iter() if _is_of_user(process))


def listens(process: psutil.Process, port: int) -> bool:
    """Whether the process is seen to listen on this port. Blocks."""
    return any(
        connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr[1] == port
        for connection in _connections(process)
    )


def model_list(body: object) -> tuple[Served, ...]:
    """What the body of `GET /v1/models` lists, without those that do not converse where others
    do; empty if it is no list."""
    entries = body.get("data") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return ()
    listed = {
        entry["id"]: Served(entry["id"], _window_of(entry))
        for entry in entries
        if isinstance(entry, dict) and _is_name(entry.get("id"))
    }
    speaking = [each for each in listed.values() if not _is_of_another_kind(each.name)]
    return tuple(speaking or listed.values())


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= NAME_LENGTH and name.isprintable()


def _is_of_another_kind(name: str) -> bool:
    return any(part in name.lower() for part in _OTHER_KINDS)


def _window_of(entry: dict[str, Any]) -> int:
    meta = entry.get("meta")
    said = [meta.get("n_ctx")] if isinstance(meta, dict) else []  # llama.cpp
    said += [entry.get(name) for name in _WINDOWS]
    return next((each for each in said if type(each) is int and each > 0), 0)


async def _models_at(port: int, seconds: float) -> tuple[Served, ...]:
    answer = await local_http.get(port, "/v1/models", seconds=seconds)
    if answer is None or answer[0] != 200:
        return ()
    try:
        return model_list(json.loads(answer[1]))
    except (ValueError, RecursionError):
        return ()


def _is_of_user(process: psutil.Process) -> bool:
    with suppress(psutil.Error, OSError):
        if hasattr(os, "geteuid"):
            return process.uids().effective == os.geteuid()
        return process.username() == psutil.Process().username()
    return False


def _connections(process: psutil.Process) -> Iterator[Any]:
    """The process's TCP sockets, none where the system does not let us see them."""
    with suppress(psutil.Error, OSError):
        # The name is a newer one; kernels in the field still bring psutil 5.
        ask = getattr(process, "net_connections", None) or process.connections
        yield from ask(kind="tcp")
