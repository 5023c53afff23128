"""A kernel with nothing set up in it, and a page; modules that need more in it have their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kernels import Kernel, interpreters, running_kernel
from tests.support.pages import FakePage, page_of


@pytest.fixture(scope="module", params=interpreters())
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    with running_kernel(request.param) as kernel:
        yield kernel


@pytest.fixture(scope="module")
def page(kernel: Kernel) -> Iterator[FakePage]:
    with page_of(kernel) as page:
        yield page
