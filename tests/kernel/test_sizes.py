"""The size of a value is estimated from all that it holds."""

from __future__ import annotations

from collections import deque

import numpy as np
import pandas as pd
import polars as pl

from shiro_jupyter.kernel.sizes import size_of


def test_a_size_is_of_all_that_is_held() -> None:
    floats = np.zeros(100_000)
    assert size_of(floats) == 800_000
    assert size_of(pd.DataFrame({"a": floats, "b": floats})) == 1_600_000
    assert size_of(pl.DataFrame({"a": floats})) == 800_000
    assert size_of([floats] * 3) > 2_400_000 and size_of({"a": (floats,)}) > 800_000

    class Model:
        def __init__(self) -> None:
            self.weights = floats

    assert size_of(Model()) > 800_000
    model = Model()
    assert size_of([model]) > 800_000 and size_of(deque([model])) > 800_000
