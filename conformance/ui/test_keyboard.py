"""The page with the keyboard alone."""

from __future__ import annotations

from typing import Any

from conformance.ui.conftest import Open
from kafkalite.client.connecting import Client


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def selected(page: Any, label: str) -> str:
    """The row that is chosen."""
    grid = page.get_by_role("grid", name=label, exact=True)
    text: str = grid.locator("[aria-selected=true]").inner_text()
    return text


def test_views_topics_and_records(opened: Open) -> None:
    page = opened("overview")
    press(page, "2")
    page.get_by_role("heading", name="Topics").wait_for()
    page.get_by_role("grid", name="Topics").get_by_text("orders").wait_for()
    press(page, "/")
    page.keyboard.type("o")
    page.get_by_role("grid", name="Topics").get_by_text("payments").wait_for(state="detached")
    press(page, "Escape", "j")
    assert selected(page, "Topics").startswith("audit.log")
    press(page, "j", "j", "k", "j")
    assert selected(page, "Topics").startswith("orders")
    press(page, "Enter")
    page.get_by_role("heading", name="orders").wait_for()
    page.get_by_text("200 records").wait_for()
    press(page, "/")
    page.keyboard.type("poison")
    page.get_by_text("1 record in").wait_for()
    press(page, "Escape", "j")
    record = page.get_by_role("complementary", name="The record")
    record.wait_for()
    press(page, "Escape")
    record.wait_for(state="detached")
    press(page, "f")
    page.get_by_text("following").wait_for()
    press(page, "3")
    page.get_by_role("heading", name="Groups").wait_for()
    page.get_by_role("grid", name="Groups").get_by_text("billing").wait_for()
    press(page, "j", "Enter")
    page.get_by_role("heading", name="billing").wait_for()


def test_a_dialog_is_filled_and_closed(opened: Open, k: Client) -> None:
    page = opened("faults")
    page.get_by_role("grid", name="Faults").wait_for()
    press(page, "a")
    dialog = page.get_by_role("dialog", name="Add a fault")
    dialog.wait_for()
    press(page, "Escape")
    dialog.wait_for(state="detached")
    press(page, "a")
    dialog.get_by_label("Request").focus()
    page.keyboard.type("Heartbeat")
    dialog.get_by_label("Name").focus()
    page.keyboard.type("typed")
    dialog.get_by_label("group").focus()
    page.keyboard.type("nobody")
    press(page, "Enter")
    dialog.wait_for(state="detached")
    rule = next(each.rule for each in k.ask("faults.list") if each.rule.id == "typed")
    assert (rule.when.api, rule.when.group, rule.times) == ("Heartbeat", "nobody", 1)
    assert rule.do[0].drop == "after"
    k.ask("faults.remove", fault="typed")


def test_everything_can_be_reached_by_tab(opened: Open) -> None:
    page = opened("topics/orders")
    page.get_by_text("200 records").wait_for()
    reached: set[str] = set()
    for _ in range(40):
        press(page, "Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.getAttribute('aria-label') "
                "|| document.activeElement.innerText || document.activeElement.tagName"
            )
        )
    wanted = {"Overview", "Produce", "Delete", "Search records", "Follow", "Records", "Keys"}
    assert wanted <= {each.strip() for each in reached}


def test_help_says_the_keys(opened: Open) -> None:
    page = opened("clock")
    press(page, "?")
    page.get_by_role("dialog", name="Keys").get_by_text("filter or search").wait_for()
    press(page, "Escape")
    page.get_by_role("dialog").wait_for(state="detached")
