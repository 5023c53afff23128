from __future__ import annotations

import pytest
from pydantic import ValidationError

from shiro_jupyter.core.settings.fields import Fields

NUMBERS = [name for name, field in Fields.model_fields.items() if "float" in str(field.annotation)]


def test_these_are_numbers() -> None:
    named = {"max_cost", "max_cost_day", "max_turn_seconds", "timeout", "temperature"}
    assert set(NUMBERS) >= named


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["inf", "-inf", "nan", float("inf"), 1e999, "1e999"])
def test_no_bound_is_beyond_all_numbers(name: str, value: object) -> None:
    """A cap that nothing reaches would look like one."""
    with pytest.raises(ValidationError, match=r"finite|greater than|less than"):
        Fields.model_validate({name: value})
    assert getattr(Fields.model_validate({name: "1.5"}), name) == 1.5
