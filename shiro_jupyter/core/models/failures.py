"""What an endpoint said no with, as one `EndpointError` of one sentence.

Pure: from statuses and JSON bodies to errors. What exceptions of the SDK mean is in `sdk`, which
also takes our secrets out of what an endpoint echoes.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Any

from ..errors import (
    EndpointBusy,
    EndpointError,
    EndpointRefused,
    EndpointUnreachable,
    KeyRefused,
    StreamBroken,
)
from .endpoint import Endpoint

# Characters of an endpoint's own words that a sentence quotes.
QUOTED = 300
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
_TOO_LONG_WORDS = ("context length", "context size", "context window", "maximum context")
# Errors inside a stream that no second try mends.
_FINAL = {
    "invalid_prompt",
    "invalid_request_error",
    "invalid_api_key",
    "authentication_error",
    "model_not_found",
    "insufficient_quota",
    "content_policy_violation",
    "bio_policy",
    "image_content_policy_violation",
}


def of_status(
    endpoint: Endpoint, model: str, status: int, headers: Mapping[str, str], body: object
) -> EndpointError:
    """The error of an answer with a status that is not 200."""
    at = endpoint.shown
    if is_page(headers, body):
        return web_page(endpoint, status)
    code, words = told(body)
    said = f"{status}: {words.rstrip('.')}" if words else str(status)
    if 300 <= status < 400:
        target = headers.get("location", "").partition("?")[0]
        return EndpointUnreachable(
            f"{at} sends us on to {target or 'another address'}; "
            "set that as the base URL with /connect.",
            retryable=False,
        )
    if status == 401:
        which = "refused the key" if endpoint.api_key else "wants a key, and none is set"
        return KeyRefused(f"{at} {which} (401); set one with /connect.", code=code)
    if status == 403:
        return EndpointRefused(
            f"{at} does not allow this key or this machine to use {model} ({said}); "
            "choose another model with /model or another key with /connect.",
            code=code,
        )
    if is_too_long(code, words) or status == 413:
        return too_long(model, words)
    if code == "model_not_found" or (status == 404 and "model" in words.lower()):
        return EndpointRefused(
            f"{at} has no model “{model}” ({said}); choose another with /model.", code=code
        )
    if status == 404:
        return EndpointRefused(
            f"{at} is not the base URL of a model API ({said}); it often ends in /v1: check it "
            "with /connect.",
            code=code,
        )
    if code == "insufficient_quota":
        return EndpointRefused(
            f"The account at {at} has no quota left ({status}); "
            "check its plan, or set another key with /connect.",
            code=code,
        )
    if status in (408, 409, 429) or status >= 500:
        what = "is asked too often" if status == 429 else "has trouble"
        return EndpointBusy(
            f"{at} {what} ({said}); ask again later, or choose another model with /model.",
            retry_after=retry_after(headers),
            code=code,
        )
    return EndpointRefused(
        f"{at} refused the request ({said}); "
        "ask in other words, or choose another model with /model.",
        code=code,
    )


def of_stream(error: object) -> EndpointError:
    """The error that an endpoint wrote into a stream it had already begun."""
    code, words = told(error)
    if is_too_long(code, words):
        return too_long("", words)
    said = ": ".join(filter(None, (code, words))) or "it says not what"
    kind = EndpointRefused if code in _FINAL else StreamBroken
    said = said.rstrip(".")
    return kind(f"The model server broke off with an error ({said}); ask again.", code=code)


def too_long(model: str, words: str = "") -> EndpointRefused:
    said = f" ({words.rstrip('.')})" if words else ""
    return EndpointRefused(
        f"The conversation is too long for {model or 'the model'}{said}; begin a new one with "
        "/clear, or choose a model with a larger window with /model.",
        code=EndpointError.TOO_LONG,
    )


def web_page(endpoint: Endpoint, status: int) -> EndpointUnreachable:
    return EndpointUnreachable(
        f"{endpoint.shown} answers with a web page ({status}), not with a model API: a proxy or a "
        "login stands between, or the address is wrong; check the base URL with /connect.",
        retryable=False,
    )


def is_page(headers: Mapping[str, str], body: object = None) -> bool:
    """HTML where an API was expected."""
    if "html" in headers.get("content-type", "").lower():
        return True
    return isinstance(body, str) and body.lstrip()[:14].lower().startswith(("<!doctype", "<html"))


def is_too_long(code: str, words: str) -> bool:
    return code in _TOO_LONG or any(each in words.lower() for each in _TOO_LONG_WORDS)


def told(body: object) -> tuple[str, str]:
    """Code and words of an error body in any of the shapes that servers use."""
    if isinstance(body, str):
        return "", _short(body)
    if not isinstance(body, dict):
        return "", ""
    inner = body.get("error")
    if isinstance(inner, dict):
        body = inner
    elif isinstance(inner, str):
        return "", _short(inner)
    code = next((str(body[key]) for key in ("code", "type") if _is_word(body.get(key))), "")
    words: Any = next((body[key] for key in ("message", "detail") if body.get(key)), "")
    return code, _short(words if isinstance(words, str) else repr(words))


def _is_word(code: object) -> bool:
    return isinstance(code, str) and code not in ("", "error") and not code.isdigit()


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= QUOTED else words[:QUOTED] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks us to wait: `retry-after-ms`, seconds, or a date."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        when = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, when.timestamp() - time.time())
