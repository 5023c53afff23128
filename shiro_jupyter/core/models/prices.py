"""What a model call costs, by the prices that `genai-prices` brings along: nothing is looked up.

What it does not know is unknown, and never free. A model on this machine has no price.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ..events import Cost, Usage
from .endpoint import Endpoint
from .profiles import Profile

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_TOKEN = Usage(input=1, output=1)


def cost_of(profile: Profile, usage: Usage, at: datetime) -> Cost:
    """The cost of one call at that time. One whose tokens nobody counted has no known cost."""
    if is_local(profile):
        return Cost(local=1)
    if not (usage.input or usage.output):
        return Cost(unknown=1)
    dollars = _dollars(profile, usage, at)
    return Cost(unknown=1) if dollars is None else Cost(dollars, priced=1)


def is_priced(profile: Profile, at: datetime) -> bool:
    return _dollars(profile, _TOKEN, at) is not None


def is_local(profile: Profile) -> bool:
    """Whether it runs on this machine, or is a script."""
    return not profile.base_url or Endpoint(profile.base_url).is_loopback


def _dollars(profile: Profile, usage: Usage, at: datetime) -> float | None:
    try:
        found = _calculated(profile, usage, at)
    except (ImportError, LookupError, ValueError):
        return None
    # Of some models it lists the name alone, or one direction.
    prices = ((usage.input, "input_mtok"), (usage.output, "output_mtok"))
    if any(tokens and getattr(found.model_price, name) is None for tokens, name in prices):
        return None
    return float(found.total_price)


def _calculated(profile: Profile, usage: Usage, at: datetime) -> PriceCalculation:
    """Imports its tables with the first price: 0.1 s."""
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=min(usage.cached, usage.input),
        output_tokens=usage.output,
    )
    return genai_prices.calc_price(
        counted, profile.model, provider_api_url=profile.base_url, genai_request_timestamp=at
    )
