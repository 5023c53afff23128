"""What is taken out of an endpoint's words, and what is left in them."""

from __future__ import annotations

import pytest

from shiro_jupyter.core.models.endpoint import Endpoint

URL = "http://127.0.0.1:11434/v1"
WORDS = "1: ollama-e has no model, none of EMPTY"


@pytest.mark.parametrize("key", ["", "1", "e", "ollama", "none", "EMPTY"])
def test_a_stand_in_for_a_key_garbles_no_sentence(key: str) -> None:
    assert Endpoint(URL, key, headers=(("X-Team", "e"),)).scrubbed(WORDS) == WORDS


def test_a_secret_is_taken_out_in_any_case_and_wherever_it_stands() -> None:
    endpoint = Endpoint(URL, "sk-Secret.0123", headers=(("X-Key", "sk-Secret.0123-more"),))
    assert endpoint.scrubbed(r"\nsk-secret.0123,SK-SECRET.0123-MORE") == r"\n…,…"
    assert endpoint.scrubbed("sk-Secret_0123") == "sk-Secret_0123"


def test_a_short_password_is_taken_out_where_it_stands_in_an_address() -> None:
    endpoint = Endpoint("http://me:pw@host/v1", proxy="http://you:hidden-word@proxy:1")
    assert endpoint.scrubbed("http://me:pw@host/v1 is pw") == "http://me…host/v1 is pw"
    assert endpoint.scrubbed("hidden-word") == "…"


def test_json_is_scrubbed_in_all_its_texts_and_no_deeper_than_anybody_looks() -> None:
    endpoint = Endpoint(URL, "sk-secret-0123")
    body = {"error": [{"message": "no sk-secret-0123", "code": 7}, None]}
    assert endpoint.scrubbed_json(body) == {"error": [{"message": "no …", "code": 7}, None]}
    deep: object = "sk-secret-0123"
    for _ in range(100_000):
        deep = [deep]
    assert "sk-" not in str(endpoint.scrubbed_json(deep))
