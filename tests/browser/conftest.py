"""One Lab and one browser a module, one page and kernel a test; what failed is photographed."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.support.browser import TIMEOUT, Page, opened_page, running_browser
from tests.support.lab import Lab, running_lab

expect.set_options(timeout=TIMEOUT)
LIMIT = 240  # seconds for one test, with the start of Lab and the browser
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A Lab as the module's `LAB` says, which holds arguments of `running_lab`."""
    with running_lab(**getattr(request.module, "LAB", {})) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    with running_browser() as running:
        yield running


@pytest.fixture
def page(lab: Lab, browser: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    with opened_page(browser, lab) as page:
        yield page
        if request.node.stash.get(FAILED, False):
            name = re.sub(r"\W+", "-", request.node.nodeid.split("/")[-1]).strip("-")
            sys.stdout.write(
                f"as it looked: {page.screenshot(name)}\nerrors of the console: {page.errors}\n"
            )
