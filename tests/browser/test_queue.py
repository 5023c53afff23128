"""The queue, Escape, and the prompts of before, in the panel of a real page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1", "SHIRO_MODE": "yolo"}
LOAD = "%load_ext shiro_jupyter"
CALM = "from pathlib import Path\nimport time\nwhile not Path('go').exists(): time.sleep(0.05)"


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    (lab.folder / "go").unlink(missing_ok=True)
    lab.play(
        says("hello", "Good day."),
        says("for ever", "never said", delay=600),
        runs("calm", CALM),
        says("calm", "It went on."),
        {"when": "which", "calls": [{"name": "ask", "arguments": {"question": "Which year?"}}]},
        says("which", "That one."),
    )


@pytest.fixture
def panel(lab: Lab, page: Page, request: pytest.FixtureRequest) -> Locator:
    page.open(lab.notebook(f"{request.node.name}.ipynb", [LOAD, "%shiro hello from a cell"]))
    panel = page.panel()
    page.run(0)
    expect(box(panel)).to_be_enabled()
    return panel


def box(panel: Locator) -> Locator:
    return panel.get_by_role("textbox", name="Ask shiro")


def ask(panel: Locator, prompt: str) -> None:
    box(panel).fill(prompt)
    box(panel).press("Enter")
    expect(box(panel)).to_have_value("")


def begin(panel: Locator, prompt: str = "for ever") -> Locator:
    """A turn that goes on."""
    ask(panel, prompt)
    turn = panel.locator(".shiro-panel-turn").last
    expect(turn.get_by_role("button", name="Stop")).to_be_visible()
    return turn


def waiting(panel: Locator) -> Locator:
    return panel.locator(".shiro-panel-queue li")


def hint(panel: Locator) -> Locator:
    return panel.get_by_role("status").filter(has_text="Escape again stops the turn")


def press_twice(panel: Locator) -> None:
    """What stops a turn."""
    box(panel).press("Escape")
    box(panel).press("Escape")


def sent_now(panel: Locator) -> Locator:
    """The marks of those that go into the turn that runs."""
    return panel.locator(".shiro-queue-row > .shiro-faint:visible")


def test_what_waits_is_edited_and_removed_by_keys(page: Page, panel: Locator) -> None:
    begin(panel)
    ask(panel, "one\nof two lines")
    expect(waiting(panel).locator(".shiro-queue-words")).to_have_text(["one of two lines"])
    ask(panel, "two")
    ask(panel, "hello three")
    expect(panel.get_by_role("status").filter(has_text="3 prompts wait")).to_be_visible()
    page.screenshot("queue-light")
    edit = panel.get_by_role("button", name="Edit: one of two lines")
    edit.focus()
    edit.press("Enter")
    field = panel.get_by_role("textbox", name="Edit: one of two lines")
    expect(field).to_be_focused()
    expect(field).to_have_value("one\nof two lines")
    page.screenshot("queue-editing")
    field.press("Escape")  # of the editor alone
    expect(waiting(panel)).to_have_count(3)
    edit.press("Enter")
    field.fill("hello one")
    field.press("Enter")
    expect(waiting(panel).first).to_contain_text("hello one")
    remove = panel.get_by_role("button", name="Remove: two")
    remove.focus()
    remove.press("Enter")
    expect(waiting(panel)).to_have_count(2)
    page.theme("dark")
    page.screenshot("queue-dark")
    page.theme("light")
    panel.get_by_role("button", name="Stop").click()
    expect(panel.locator(".shiro-panel-turn")).to_have_count(3)
    expect(panel.locator(".shiro-panel-turn").last).to_contain_text("Good day.")
    expect(panel.locator(".shiro-panel-queue")).to_be_hidden()
    titles = [each.inner_text() for each in panel.locator(".shiro-panel-turn > summary").all()]
    assert titles == ["for ever", "hello one", "hello three"]
    assert not page.errors


def test_a_second_escape_stops_the_turn_and_hands_back_what_waits(
    page: Page, panel: Locator
) -> None:
    turn = begin(panel)
    ask(panel, "one")
    ask(panel, "two")
    expect(waiting(panel)).to_have_count(2)
    press_twice(panel)
    expect(turn).to_contain_text("interrupted")
    expect(box(panel)).to_have_value("one\n\ntwo")
    expect(waiting(panel)).to_have_count(0)
    page.screenshot("queue-handed-back")
    box(panel).fill("")
    box(panel).press("Escape")  # nothing runs: nothing happens
    expect(hint(panel)).to_have_count(0)
    ask(panel, "hello")
    expect(panel.locator(".shiro-panel-turn").last).to_contain_text("Good day.")
    assert not page.errors


def test_one_escape_stops_nothing(page: Page, panel: Locator) -> None:
    turn = begin(panel)
    ask(panel, "one")
    box(panel).press("Escape")
    expect(hint(panel)).to_be_visible()
    page.screenshot("queue-escape")
    box(panel).press("Shift")  # whatever comes between takes the first one back
    expect(hint(panel)).to_have_count(0)
    box(panel).press("x")
    press_twice(panel)  # with words in the box
    expect(hint(panel)).to_have_count(0)
    expect(box(panel)).to_have_value("x")
    box(panel).press("Backspace")
    page.dom.keyboard.down("Escape")
    for _ in range(5):
        page.dom.keyboard.down("Escape")  # held down, which repeats
    page.dom.keyboard.up("Escape")
    expect(hint(panel)).to_be_visible()
    expect(hint(panel)).to_have_count(0)  # in a while
    expect(waiting(panel)).to_have_count(1)
    expect(turn.get_by_role("button", name="Stop")).to_be_visible()
    panel.get_by_role("button", name="Remove: one").focus()
    page.dom.keyboard.press("Escape")
    page.dom.keyboard.press("Escape")  # wherever the focus is
    expect(turn).to_contain_text("interrupted")
    expect(box(panel)).to_have_value("one")
    assert not page.errors


def test_words_for_a_question_are_no_reason_to_stop(page: Page, panel: Locator) -> None:
    turn = begin(panel, "which")
    field = turn.get_by_role("textbox", name="In your own words: Which year?")
    field.fill("2024")
    field.press("Escape")
    field.press("Escape")
    field.press("Enter")
    expect(turn).to_contain_text("That one.")


def test_a_reply_stays_in_sight_as_prompts_begin_to_wait(page: Page, panel: Locator) -> None:
    begin(panel)
    ask(panel, "/help")
    ask(panel, "/help")
    expect(panel.locator(".shiro-panel-said")).to_have_count(2)
    said = panel.locator(".shiro-panel-said").last.locator("> :last-child")
    expect(said).to_be_in_viewport()
    ask(panel, "one")
    ask(panel, "two")
    expect(waiting(panel)).to_have_count(2)
    page.screenshot("queue-reply")
    expect(said).to_be_in_viewport()


def test_a_prompt_is_sent_into_the_turn_that_runs(lab: Lab, page: Page, panel: Locator) -> None:
    turn = begin(panel, "calm")
    ask(panel, "hello then")
    panel.get_by_role("button", name="Send now: hello then").click()
    expect(sent_now(panel)).to_have_text(["at the next step"])
    box(panel).fill("stay calm")
    box(panel).press("Control+Enter")
    expect(waiting(panel)).to_have_count(2)
    page.screenshot("queue-now")
    expect(sent_now(panel)).to_have_count(2)
    (page.folder / "go").touch()
    expect(turn).to_contain_text("It went on.")
    assert turn.locator(".shiro-asked").all_inner_texts() == ["hello then", "stay calm"]
    assert panel.locator(".shiro-panel-turn").count() == 1
    page.screenshot("queue-steered")
    assert not page.errors


def test_the_running_cell_shows_what_waits(page: Page, panel: Locator) -> None:
    begin(panel)
    page.start(1)
    expect(waiting(panel)).to_contain_text("hello from a cell")
    panel.get_by_role("button", name="Remove: hello from a cell").click()
    expect(page.output(1)).to_contain_text("The prompt was taken off the queue.")
    expect(waiting(panel)).to_have_count(0)
    press_twice(panel)


def test_a_script_of_the_page_changes_nothing(page: Page, panel: Locator) -> None:
    begin(panel)
    ask(panel, "one")
    for name in ("Remove: one", "Send now: one", "Edit: one"):
        panel.get_by_role("button", name=name).evaluate("each => each.click()")
    for _ in range(2):
        box(panel).dispatch_event("keydown", {"key": "Escape", "bubbles": True})
    box(panel).dispatch_event("keydown", {"key": "ArrowUp", "bubbles": True})
    ask(panel, "two")  # the kernel has been heard since
    expect(waiting(panel)).to_have_count(2)
    expect(sent_now(panel)).to_have_count(0)
    expect(panel.get_by_role("textbox", name="Edit: one")).to_be_hidden()
    press_twice(panel)
    expect(waiting(panel)).to_have_count(0)


def test_up_and_down_walk_the_prompts_of_before(page: Page, panel: Locator) -> None:
    ask(panel, "hello first\nsecond line")
    expect(panel).to_contain_text("Good day.")
    page.run(1)
    field = box(panel)
    field.fill("being typed\nin two lines")
    field.press("ArrowUp")  # from the last line to the first
    expect(field).to_have_value("being typed\nin two lines")
    field.press("ArrowUp")
    expect(field).to_have_value("hello from a cell")
    field.press("ArrowUp")
    expect(field).to_have_value("hello first\nsecond line")
    field.press("Control+End")
    field.press_sequentially(" changed")
    field.press("ArrowDown")
    expect(field).to_have_value("hello from a cell")
    field.press("ArrowDown")
    expect(field).to_have_value("being typed\nin two lines")
    field.press("ArrowDown")
    expect(field).to_have_value("being typed\nin two lines")
    field.press("ArrowUp")
    field.press("ArrowUp")
    expect(field).to_have_value("hello from a cell")
    field.press("ArrowUp")
    expect(field).to_have_value("hello first\nsecond line changed")
    field.press("Enter")
    expect(panel.locator(".shiro-panel-turn")).to_have_count(3)
    expect(field).to_have_value("being typed\nin two lines")
    field.press("Control+Home")
    field.press("ArrowUp")
    expect(field).to_have_value("hello first\nsecond line changed")
    assert not page.errors


def test_a_wrapped_line_is_walked_before_the_prompts(page: Page, panel: Locator) -> None:
    ask(panel, "hello")
    expect(panel).to_contain_text("Good day.")
    field = box(panel)
    long = "word " * 60
    field.fill(long)
    field.press("ArrowUp")
    assert field.evaluate("each => each.selectionStart") < len(long)  # the caret went up
    expect(field).to_have_value(long)
    field.press("Control+Home")
    field.press("ArrowUp")
    expect(field).to_have_value("hello")
    assert not page.errors


def test_words_for_a_question_that_is_asked_no_more_are_kept(page: Page, panel: Locator) -> None:
    turn = begin(panel, "which")
    field = turn.get_by_role("textbox", name="In your own words: Which year?")
    field.fill("the one of 2024")
    turn.get_by_role("button", name="Stop").click()
    expect(field).to_have_count(0)
    expect(box(panel)).to_have_value("the one of 2024")


def test_what_waits_survives_a_reload_and_goes_to_the_page_that_is_there(
    page: Page, panel: Locator
) -> None:
    begin(panel)
    ask(panel, "one")
    expect(waiting(panel)).to_have_count(1)
    page.saved()
    page.reload()
    panel = page.panel()
    expect(waiting(panel)).to_contain_text("one")
    press_twice(panel)
    expect(box(panel)).to_have_value("one")


def test_a_restart_of_the_kernel_hands_back_what_was_typed_here(page: Page, panel: Locator) -> None:
    begin(panel)
    ask(panel, "one")
    expect(waiting(panel)).to_have_count(1)
    box(panel).fill("being typed")
    page.restart_kernel()
    expect(box(panel)).to_have_value("one\n\nbeing typed")
    expect(waiting(panel)).to_have_count(0)
