"""What the README tells a person to type does what it says, in a real kernel."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support.kernels import ROOT, running_kernel
from tests.support.scripts import says, script


def cells() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in blocks if block.startswith("%")]


@pytest.mark.kernel
def test_every_cell_of_the_readme_runs(tmp_path: Path) -> None:
    model = script(tmp_path, says("rows", "It is answered."), says("customer", "It is answered."))
    said = []
    with running_kernel(
        sys.executable, folder=tmp_path, SHIRO_MODEL=model, SHIRO_LIVE="1", SHIRO_VIEW="text"
    ) as kernel:
        for cell in cells():
            outputs = kernel.run(cell)
            assert outputs.status == "ok" and not outputs.stream("stderr"), (cell, outputs)
            shown = [each["data"]["text/plain"] for each in outputs.of("display_data")]
            said.append("\n".join([outputs.stdout, *shown]))
    asking, asking_again, remembering = said
    assert "It is answered." in asking and "It is answered." in asking_again
    assert remembering.count("dates in orders.csv are day-first") == 3
    assert "Remembered as gotcha" in remembering and "Forgot" in remembering
