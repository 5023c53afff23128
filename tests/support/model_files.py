"""The small model's files, as `scripts/fetch_model.py` leaves them, and a stand-in server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache" / "models"
MODEL = CACHE / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
SERVER = next(CACHE.glob("llama-server-*/llama-server"), CACHE / "llama-server")

needs_model = [
    pytest.mark.model,
    pytest.mark.skipif(
        not (MODEL.is_file() and SERVER.is_file()),
        reason="the small model is not here: python scripts/fetch_model.py",
    ),
]

_STAND_IN = '''#!{python}
"""Takes the switches of llama-server and behaves as the words after it say."""
import http.server, json, os, sys, time

BEHAVIOUR = {behaviour!r}
SWITCHES = {switches!r}
if "--help" in sys.argv:
    print(SWITCHES)
    sys.exit(0)
with open(__file__ + ".started", "a") as told:
    told.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
if BEHAVIOUR == "exits":
    print("0.00.030.205 E common_fit: first word on the error: cannot load model")
    print("0.00.030.256 I srv    operator(): cleaning up before exit...")
    sys.exit(1)
if BEHAVIOUR == "lacks a library":
    print("alone: error while loading shared libraries: libgomp.so.1: cannot open", flush=True)
    sys.exit(127)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        loading = BEHAVIOUR == "loads for ever" or time.time() < SINCE + {loading}
        self.send_response(503 if loading else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{{}}")

    def log_message(self, *words):
        pass

SINCE = time.time()
http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler).serve_forever()
'''
SWITCHES = "--jinja --no-ui --device --no-slots --offline"


def stand_in(
    folder: Path, behaviour: str = "serves", *, loading: float = 0.0, switches: str = SWITCHES
) -> Path:
    """A program in place of llama-server; it notes each start in a file beside it."""
    path = folder / "llama-server"
    text = _STAND_IN.format(
        python=sys.executable, behaviour=behaviour, switches=switches, loading=loading
    )
    path.write_text(text)
    path.chmod(0o755)
    return path
