from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.memories import MakeMemory, maker


@pytest.fixture
def make_memory(tmp_path: Path) -> MakeMemory:
    return maker(tmp_path)
