"""The page with the keyboard alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.ui.conftest import Open
from conformance.ui.test_requests import archive, entry
from kafkalite.client.connecting import Client

_NOTE_THE_CHOOSER = """() => {
  document.querySelector("input[type=file]").click = () => { window.wasAsked = true; };
}"""

# A key for a view, pressed in the moment in which its heading comes.
_PRESS_AT_ONCE = """heading => {
  const observer = new MutationObserver(() => {
    if (document.querySelector("h1")?.innerText.includes(heading)) {
      observer.disconnect();
      dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
    }
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


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
    page.get_by_role("heading", name="Topics", exact=True).wait_for()
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
    page.keyboard.insert_text("poison")  # at once: a search for its first letters finds one, too
    page.get_by_text("1 record in").wait_for()
    press(page, "Escape", "j")
    record = page.get_by_role("complementary", name="The record")
    record.wait_for()
    press(page, "Escape")
    record.wait_for(state="detached")
    press(page, "f")
    page.get_by_text("following").wait_for()
    press(page, "3")
    page.get_by_role("heading", name="Groups", exact=True).wait_for()
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


_CLOSE_AND_ADD = """async () => {
  [...document.querySelectorAll("dialog button")].find(each => each.innerText == "Cancel").click();
  await null;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
}"""


def test_a_key_right_after_a_dialog_closed_counts(opened: Open) -> None:
    """The browser tells of a dialog's end in a task of its own, which may come after the key."""
    page = opened("faults")
    page.get_by_role("grid", name="Faults").wait_for()
    dialog = page.get_by_role("dialog", name="Add a fault")
    press(page, "a")
    dialog.wait_for()
    page.evaluate(_CLOSE_AND_ADD)
    dialog.get_by_label("Request").focus()
    page.wait_for_timeout(200)
    assert dialog.is_visible()
    press(page, "Escape")
    dialog.wait_for(state="detached")
    assert page.evaluate("document.activeElement === document.body")


def until(page: Any, name: str) -> None:
    """Tab until what has the focus has this name."""
    named = "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
    for _ in range(80):
        press(page, "Tab")
        if (page.evaluate(named) or "").strip() == name:
            return
    raise AssertionError(f"{name} is not reached")


def test_requests_are_looked_through(opened: Open) -> None:
    page = opened("overview")
    press(page, "4")
    page.get_by_role("heading", name="Requests", exact=True).wait_for()
    page.get_by_role("grid", name="Requests", exact=True).wait_for()
    press(page, "/")
    page.keyboard.type("shop produce")
    press(page, "Escape", "j", "j")
    side = page.get_by_role("complementary", name="The request and its answer")
    side.get_by_label("The request").get_by_text('"acks"').wait_for()
    assert "Produce" in selected(page, "Requests")
    press(page, "Escape")
    side.wait_for(state="detached")
    picture = page.get_by_role("img", name="Timeline of")
    until(page, "Pause")
    press(page, "Enter")
    page.get_by_role("button", name="Go on").wait_for()
    whole = picture.get_attribute("aria-label")
    press(page, "+", "+")
    page.wait_for_function("old => !document.querySelector(`[aria-label='${old}']`)", arg=whole)
    press(page, "0")
    page.get_by_role("img", name=whole).wait_for()


def test_time_goes_on(opened: Open, k: Client) -> None:
    page = opened("overview")
    press(page, "6")
    page.get_by_role("heading", name="Clock").wait_for()
    until(page, "By")
    page.keyboard.type("2s")
    before = k.clock.show()
    press(page, "Enter")
    page.get_by_role("heading", name="The last jump").wait_for()
    assert not before.ahead_ms
    assert k.clock.show().now_ms >= before.now_ms + 2000
    k.clock.reset()


def test_transactions_and_groups_are_acted_on(opened: Open, k: Client) -> None:
    page = opened("overview")
    press(page, "7")
    page.get_by_role("grid", name="Transactions").get_by_text("checkout-0").wait_for()
    press(page, "j")
    page.get_by_role("complementary", name="The transaction").wait_for()
    until(page, "Fence")
    press(page, "Enter")
    page.get_by_role("dialog", name="Fence checkout-0?").wait_for()
    press(page, "Escape", "Escape")
    page.get_by_role("complementary", name="The transaction").wait_for(state="detached")
    k.group("by-hand").seek("orders", 3)
    press(page, "3")
    page.get_by_role("grid", name="Groups").get_by_text("by-hand").wait_for()
    press(page, "/")
    page.keyboard.type("by-hand")
    press(page, "Escape", "j", "Enter")
    page.get_by_role("heading", name="by-hand").wait_for()
    until(page, "Seek")
    press(page, "Enter")
    page.get_by_role("dialog", name="Where by-hand goes on").wait_for()
    until(page, "Seek")
    press(page, "Enter")
    page.get_by_text("by-hand goes on in orders from earliest").wait_for()
    assert {each.offset for each in k.group("by-hand").show().offsets} == {0}
    k.ask("groups.delete", group="by-hand")


def test_a_trace_is_opened(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "trace.zip"
    text = "\n".join(json.dumps(entry(each)) for each in range(9))
    path.write_bytes(archive({"requests.jsonl": text, "events.jsonl": "", "meta.json": "{}"}))
    page = opened("overview")
    press(page, "8")
    page.get_by_role("heading", name="Trace", exact=True).wait_for()
    until(page, "Open a trace")
    page.evaluate(_NOTE_THE_CHOOSER)
    press(page, "Enter")
    page.wait_for_function("window.wasAsked")
    page.evaluate(_PRESS_AT_ONCE, "trace.zip")
    page.get_by_label("Trace file").set_input_files(path)
    page.get_by_role("complementary", name="The request and its answer").wait_for()
    assert "Fetch" in selected(page, "Requests")


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
