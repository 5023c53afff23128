"""Prices: what is known, what is not, and that neither is taken for the other."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from shiro_jupyter.core.events import Cost, Usage
from shiro_jupyter.core.models.prices import cost_of, is_local, is_priced
from shiro_jupyter.core.models.profiles import Profile, profile_for

OPENAI = "https://api.openai.com/v1"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
USED = Usage(input=1000, cached=500, output=100, reasoning=40)


def cost(model: str, url: str = OPENAI, used: Usage = USED) -> Cost:
    return cost_of(profile_for(model, url), used, AT)


def test_what_is_cached_costs_less() -> None:
    # 0.25 dollars a million tokens in, 0.025 cached, 2 out, reasoning among them.
    assert cost("gpt-5-mini").dollars == pytest.approx(0.000_125 + 0.000_012_5 + 0.000_2)
    assert cost("gpt-5-mini").priced == 1 and cost("gpt-5-mini").known
    fresh = cost("gpt-5-mini", used=Usage(1000, 0, 100))
    assert fresh.dollars == pytest.approx(0.000_25 + 0.000_2)


def test_the_price_is_that_of_the_endpoint_that_serves_it() -> None:
    assert cost("openai/gpt-5-mini", "https://openrouter.ai/api/v1").priced
    assert cost("gpt-5-mini", "https://models.example.org/v1") == Cost(unknown=1)


@pytest.mark.parametrize("model", ["gpt-nobody-knows", "", "text-embedding-3-small"])
def test_what_has_no_price_is_unknown_and_never_free(model: str) -> None:
    found = cost(model)
    assert found == Cost(unknown=1) and found.known is None
    assert not is_priced(profile_for(model, OPENAI), AT)


def test_a_model_that_is_listed_without_its_prices_is_unknown() -> None:
    url = "https://api.cerebras.ai/v1"
    assert cost("qwen-3-coder-480b", url) == Cost(unknown=1)


def test_a_call_that_nobody_counted_has_no_known_cost() -> None:
    assert cost("gpt-5-mini", used=Usage()) == Cost(unknown=1)


def test_more_cached_than_there_was_is_no_more_than_there_was() -> None:
    odd = cost("gpt-5-mini", used=Usage(input=10, cached=20, output=1))
    assert odd.dollars == pytest.approx(10 * 0.025e-6 + 2e-6)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://localhost:11434/v1", ""])
def test_a_model_on_this_machine_has_no_price(url: str) -> None:
    profile = Profile("gpt-5-mini", base_url=url)
    assert is_local(profile) and cost_of(profile, USED, AT) == Cost(local=1)
    assert cost_of(profile, USED, AT).known is None


def test_what_is_secret_of_an_address_is_not_kept_in_a_profile() -> None:
    profile = profile_for("m", "https://ana:hunter2hunter2@models.example.org/v1")
    assert profile.base_url == "https://models.example.org/v1"


def test_costs_add_up_and_a_part_that_is_unknown_makes_the_sum_so() -> None:
    known, unknown = Cost(0.25, priced=1), Cost(unknown=1)
    assert (known + known).known == 0.5
    assert (known + unknown).known is None and (known + unknown).dollars == 0.25
    assert (known + Cost(local=1)).known == 0.25


def test_nothing_of_the_tables_is_loaded_before_the_first_price() -> None:
    local = "cost_of(Profile('m', base_url='http://127.0.0.1/v1'), Usage(1, 0, 1), None)"
    code = (
        "import sys; from shiro_jupyter.core.events import Usage;"
        "from shiro_jupyter.core.models.prices import cost_of;"
        f"from shiro_jupyter.core.models.profiles import Profile; {local};"
        "sys.exit('genai_prices' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
