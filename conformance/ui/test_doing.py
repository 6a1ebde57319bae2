"""Faults, time and transactions on the page: shown, and changed there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Producer

from conformance.ui.conftest import Open
from conformance.ui.test_views import rows
from kafkalite.client.connecting import Client
from kafkalite.terminal.connection import Connection
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


@pytest.fixture
def added(k: Client) -> Iterator[list[str]]:
    """The names of faults that a test adds: they are gone afterwards."""
    names: list[str] = []
    yield names
    for name in names:
        k.ask("faults.remove", fault=name)


def rule(k: Client, name: str) -> Any:
    (found,) = [each.rule for each in k.ask("faults.list") if each.rule.id == name]
    return found


def test_a_fault_is_added_by_a_form(opened: Open, k: Client, added: list[str]) -> None:
    page = opened("faults")
    page.get_by_role("button", name="Add fault").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Request").fill("Produce")
    form.get_by_label("topic", exact=True).fill("nowhere-*")
    form.get_by_label("What happens").select_option("delay")
    form.get_by_label("How long").fill("250ms")
    form.get_by_label("Times (empty: always)").fill("")
    form.get_by_label("Name").fill("slow")
    added.append("slow")
    form.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("Fault slow is in").wait_for()
    made = rule(k, "slow")
    assert (made.when.api, made.when.topic, made.times) == ("Produce", "nowhere-*", None)
    assert "waiting" in rows(page, "Faults").filter(has_text="slow").inner_text()


def test_a_fault_is_added_as_json_or_ready_made(opened: Open, k: Client, added: list[str]) -> None:
    page = opened("faults")
    page.get_by_role("button", name="Add fault").click()
    form = page.get_by_role("dialog")
    form.get_by_role("radio", name="JSON").click()
    form.get_by_label("The rule").fill("{")
    form.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("This is not JSON").wait_for()
    text = '{"id": "said", "when": {"api": "EndTxn"}, "do": [{"silence": "after"}]}'
    form.get_by_label("The rule").fill(text)
    added.append("said")
    form.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("Fault said is in").wait_for()
    assert rule(k, "said").when.api == "EndTxn"
    before = {each.rule.id for each in k.ask("faults.list")}
    page.get_by_role("button", name="Add fault").click()
    form.get_by_role("radio", name="Ready-made").click()
    form.locator("[name=preset]").select_option("coordinator_loading")
    form.get_by_label("group", exact=True).fill("no-such-group")
    form.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("coordinator_loading is in").wait_for()
    added += {each.rule.id for each in k.ask("faults.list")} - before


def test_a_fault_says_what_came_instead_and_is_removed(opened: Open, k: Client) -> None:
    k.ask(
        "faults.add", id="other", when={"api": "Produce", "topic": "never"}, do=[{"drop": "after"}]
    )
    k.create_topic("instead")
    producer = Producer({"bootstrap.servers": k.describe().bootstrap})
    producer.produce("instead", "v")
    producer.flush(20)
    page = opened("faults?on=other")
    side = page.get_by_role("complementary", name="The fault")
    side.get_by_text("It was not applied, as").wait_for()
    side.locator("code").filter(has_text="instead").first.wait_for()
    side.get_by_role("button", name="Remove").click()
    page.get_by_text("other is gone").wait_for()
    assert "other" not in [each.rule.id for each in k.ask("faults.list")]
    k.delete_topic("instead")


def test_time_is_moved_and_stopped(opened: Open, k: Client) -> None:
    page = opened("clock")
    rows(page, "Due next").first.wait_for()
    page.get_by_role("textbox", name="By", exact=True).fill("90s")
    page.get_by_role("button", name="Advance").click()
    page.get_by_role("heading", name="The last jump").wait_for()
    page.get_by_text("ahead of the machine").wait_for()
    assert abs(k.clock.show().ahead_ms - 90_000) < 1000
    page.get_by_role("button", name="Freeze").click()
    page.locator("#main").get_by_text("frozen", exact=True).wait_for()
    assert k.clock.show().frozen
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("#main").get_by_text("running", exact=True).wait_for()
    page.get_by_role("button", name="Reset").click()
    page.get_by_text("It is the machine's time again").wait_for()
    assert k.clock.show().ahead_ms == 0


def test_a_transaction_that_holds_readers_back_is_aborted(opened: Open, k: Client) -> None:
    k.create_topic("held")
    bootstrap = k.describe().bootstrap
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "mine-0"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("held", "v")
    producer.flush(20)
    page = opened("transactions?on=mine-0")
    page.get_by_role("status").get_by_role("link", name="held-0").wait_for()
    side = page.get_by_role("complementary", name="The transaction")
    side.get_by_text("Ongoing").wait_for()
    side.get_by_role("button", name="Abort").click()
    page.get_by_role("dialog").get_by_role("button", name="Abort").click()
    side.get_by_text("CompleteAbort").wait_for()
    page.get_by_role("status").get_by_role("link", name="held-0").wait_for(state="detached")
    k.delete_topic("held")


def test_a_share_group_is_among_the_groups(opened: Open, k: Client) -> None:
    host, _, port = k.describe().bootstrap.split(",")[0].rpartition(":")
    with closing(Connection(host, int(port), {})) as first:
        asked = FindCoordinatorRequest(coordinator_keys=["sharing"])
        [coordinator] = first.ask(asked).coordinators
    with closing(Connection(coordinator.host, coordinator.port, {})) as connection:
        joined = connection.ask(ShareGroupHeartbeatRequest("sharing", "m-1", 0, None, ["orders"]))
        assert joined.error_code == 0
        page = opened("groups")
        row = rows(page, "Groups").filter(has_text="sharing")
        row.wait_for()
        assert "share" in row.inner_text().split()
        row.get_by_role("link", name="sharing").click()
        rows(page, "Members").filter(has_text="kafkalite-terminal").wait_for()
        connection.ask(ShareGroupHeartbeatRequest("sharing", "m-1", -1))
