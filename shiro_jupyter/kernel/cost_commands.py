"""The slash commands of tokens and cost; importing this registers them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..core.agent import Agent
from ..core.context.sources import SAID
from ..core.errors import UsageError
from ..core.events import Answer, Cost, Question, Usage, dollars
from ..core.models.base import ModelClient, Request
from ..core.models.room import calibration_of, usable
from ..core.sessions.session import Session, Spent
from ..core.turn import Limits
from ..core.workspace.files import write_atomic
from ..views.document import Block, Folded, Line, Table, Verbatim
from .commands import Work, command
from .said import Said
from .services import Services

UNFOLDED = 20  # turns of a table
BAR = 30  # characters of a whole bar
PRINTED = 30_000  # characters of a payload
NOTHING = "No model was called in this session yet."
# The ledger of a day does not have what ran on this machine.
NO_PRICE = "nothing but what ran on this machine, which has no price"
# Opaque to people, and to be seen as they are.
_AS_IT_IS = frozenset({"encrypted_content", "id", "call_id", "tool_call_id"})


@command()
def cost(services: Services, rest: str) -> Work:
    """tokens and cost of each turn, of this session and of today, and the caps on them"""

    async def work() -> Said:
        loaded = services.settings()
        opened = services.conversation.opened
        session = opened.session if opened else Session()
        spent, today = services.conversation.meter(loaded).spent()
        return [
            *_turns(session),
            *_totals(session.usage, spent, today),
            *_caps(Limits.of(loaded.settings), spent, today),
            *_about_prices(spent + today),
        ]

    return work()


def _turns(session: Session) -> list[Block]:
    """A row for each turn and model."""
    rows: dict[tuple[int, str], Spent] = {}
    for each in session.spent:
        before = rows.get((each.turn, each.model), Spent(each.turn, each.model))
        both = Spent(each.turn, each.model, before.usage + each.usage, before.cost + each.cost)
        rows[each.turn, each.model] = both
    listed = list(rows.values())
    if not listed:
        return [Line(NOTHING)]
    earlier = listed[:-UNFOLDED]
    folded = Folded(f"{len(earlier)} earlier", (_turns_table(earlier),))
    return [*([folded] if earlier else []), _turns_table(listed[-UNFOLDED:])]


def _turns_table(spent: Sequence[Spent]) -> Table:
    rows = tuple(
        (str(each.turn), *_counted(each.usage), _cell(each.cost), each.model) for each in spent
    )
    return Table(("turn", "in", "cached", "out", "cost", "model"), rows, numbers=(0, 1, 2, 3, 4))


def _counted(usage: Usage) -> tuple[str, str, str]:
    return f"{usage.input:,}", cached_share(usage), f"{usage.output:,}"


def cached_share(usage: Usage) -> str:
    return f"{usage.cached / usage.input:.0%}".replace("%", " %") if usage.input else ""


def _cell(cost: Cost) -> str:
    about = "about " * bool(cost.unknown)
    known = [f"{about}{dollars(cost.dollars)}"] if cost.priced or cost.dollars else []
    if cost.unknown and not cost.priced and known:
        return known[0]  # by estimate
    unknown = ["unknown"] if cost.unknown else []
    return " + ".join([*known, *unknown]) or ("local" if cost.local else "")


def said_cost(cost: Cost, none: str = "nothing yet") -> str:
    """`$0.0123`, or `none` without a call; what is not known is said so, and never shown as
    nothing."""
    if cost.unknown and (cost.priced or cost.dollars):
        calls = "1 call is" if cost.unknown == 1 else f"{cost.unknown} calls are"
        return f"about {dollars(cost.dollars)}, since {calls} of unknown cost"
    if cost.priced:
        return dollars(cost.dollars)
    if cost.unknown:
        return "unknown"
    return "no price, it ran on this machine" if cost.local else none


def _totals(usage: Usage, spent: Cost, today: Cost) -> list[Block]:
    share = f" ({cached_share(usage)} cached)" if usage.cached else ""
    thought = f", {usage.reasoning:,} of them reasoning" if usage.reasoning else ""
    tokens = f"{usage.input:,} tokens in{share}, {usage.output:,} out{thought}"
    return [
        Line(f"This session: {tokens} · {said_cost(spent)}"),
        Line(f"Today, in all kernels: {said_cost(today, NO_PRICE)}"),
    ]


def _caps(limits: Limits, spent: Cost, today: Cost) -> list[Block]:
    caps = (("max_cost", limits.cost, spent), ("max_cost_day", limits.cost_day, today))
    said = [
        f"{name} is {dollars(cap)}, {cost.dollars / cap:.0%} used".replace("%", " %")
        if cap
        else f"{name} is not set"
        for name, cap, cost in caps
    ]
    return [Line(f"Caps: {'; '.join(said)}.")]


def _about_prices(cost: Cost) -> list[Block]:
    said = []
    if cost.priced:
        said.append(
            f"Prices are those of genai-prices {version('genai-prices')}; a bill may differ."
        )
    if cost.unknown:
        said.append(
            "Unknown is what has no price there, which adds nothing, or was not counted by the "
            "endpoint, which adds our estimate."
        )
    return [Line(each) for each in said]


@command("[payload [FILE]]")
def context(services: Services, rest: str) -> Work:
    """what goes out next, by source; payload shows the exact request, or saves it to FILE"""
    what, _, name = rest.partition(" ")
    if what not in ("", "payload"):
        raise UsageError("/context takes nothing, or payload, or payload and the name of a file.")
    if name and services.thread.here:
        raise UsageError(f"A page saves no files: run %shiro /context {rest} in a cell.")

    async def work() -> Said:
        loaded = services.settings()
        agent = services.conversation.agent or services.conversation.at_rest(loaded)
        client = await services.models.client(loaded, lambda text: None, _nobody)
        try:
            services.redactor.keys = loaded.secrets
            request = agent.next_request(client)
            if what:
                return _payload(services, client.body(request), name.strip())
            return _sources(agent, request, client)
        finally:
            await client.close()

    return work()


async def _nobody(question: Question) -> Answer | None:
    return None


def _sources(agent: Agent, request: Request, client: ModelClient) -> Said:
    profile, meter = client.profile, agent.meter
    found = meter.sources(request, profile)
    estimated = sum(found.values())
    whole = meter.tokens(request, profile)
    window = profile.window or usable(profile)
    blocks: list[Block] = [
        Line(f"The next request to {profile.model}: about {whole:,} tokens.", strong=True),
        Line(_of_window(whole, window, profile.window), _bar(whole, window)),
        Table(
            ("source", "tokens", "share", ""),
            tuple(
                (
                    SAID[source],
                    f"{round(tokens * whole / estimated):,}",
                    f"{tokens / estimated:.0%}".replace("%", " %"),
                    "#" * round(BAR * tokens / max(found.values())),
                )
                for source, tokens in found.items()
                if tokens
            ),
            numbers=(1, 2),
        ),
    ]
    seen = calibration_of(profile, meter.measure)
    how = (
        f"set right by the endpoint, which counted {seen.counted:,} where it was {seen.estimated:,}"
        if seen.counted
        else "not set right yet: the endpoint has counted no request of this session"
    )
    blocks.append(Line(f"It is an estimate, {how}."))
    if whole > usable(profile):
        blocks.append(Line("That is too much beside a reply: older parts will be left out first."))
    blocks += _left_out(agent.session, request)
    tail = Folded("What is said anew with each request", (Verbatim(request.tail),))
    return [*blocks, tail, Line("The exact request:", "%shiro /context payload [FILE]")]


def _of_window(whole: int, window: int, known: int) -> str:
    name = "the window of" if known else "what is sent where no window is known,"
    left = max(0, window - whole)
    return f"{whole / window:.0%}".replace("%", " %") + f" of {name} {window:,}; {left:,} left:"


def _bar(part: int, whole: int) -> str:
    full = min(BAR, round(BAR * part / whole))
    return "#" * full + "." * (BAR - full)


def _left_out(session: Session, request: Request) -> list[Block]:
    sent = set(request.items)
    left = sum(item not in sent for item in session.items)
    said = f"{left} of {len(session.items)} items of the conversation are left out or shortened."
    return [Line(said)] if left else []


def _payload(services: Services, body: dict[str, Any], name: str) -> Said:
    """The request as JSON, without secrets; the key is in none of it."""
    text = json.dumps(_redacted(services, body), ensure_ascii=False, indent=2)
    # Half of a surrogate pair, which no file can hold, is written as JSON escapes it.
    text = text.encode(errors="backslashreplace").decode()
    if not name:
        if len(text) <= PRINTED:
            return [Verbatim(text)]
        shown = f"{text[:PRINTED]}\n… {len(text) - PRINTED:,} characters more"
        return [Verbatim(shown), Line("All of it:", "%shiro /context payload FILE")]
    return f"Saved to {_saved(name, text)}: {len(text):,} characters."


def _saved(name: str, text: str) -> Path:
    """The new file that holds the text."""
    try:
        path = Path(name).expanduser().absolute()
        data = f"{text}\n".encode()
        new = not os.path.lexists(path) and write_atomic(path, data, private=True, expected=b"")
    except (ValueError, RuntimeError):  # a NUL; the home of a user that there is not
        raise UsageError(f"{name!a} is no name of a file; give another.") from None
    if not new:
        raise UsageError(f"{path} is there already; name a file that is not.")
    return path


def _redacted(services: Services, value: Any) -> Any:
    match value:
        case str():
            return services.redactor(value)
        case Mapping():
            return {
                key: each if key in _AS_IT_IS else _redacted(services, each)
                for key, each in value.items()
            }
        case list():
            return [_redacted(services, each) for each in value]
    return value
