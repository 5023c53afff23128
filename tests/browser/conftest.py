"""One Lab and one browser a module, one page and kernel a test; what failed is photographed."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.support.browser import TIMEOUT, Page, opened_page, running_browser
from tests.support.lab import Lab, running_lab

expect.set_options(timeout=TIMEOUT)
LIMIT = 240  # seconds for one test, with the start of Lab and the browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    page = item.funcargs.get("page")
    if report.when == "call" and report.failed and isinstance(page, Page):
        name = re.sub(r"\W+", "-", item.nodeid.split("/")[-1]).strip("-")
        looked = f"{page.screenshot(name)}\nerrors of the console: {page.errors}"
        report.sections.append(("as it looked", looked))
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
def page(lab: Lab, browser: BrowserContext) -> Iterator[Page]:
    with opened_page(browser, lab) as page:
        yield page
