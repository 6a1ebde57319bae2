"""The views show the shop's cluster, and do to it what they offer."""

from __future__ import annotations

import base64
import json
import re
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from conformance.benchmarks.window import VIEWS
from conformance.ui.conftest import Open
from conformance.ui.shop import ORDERS
from kafkalite.client.connecting import Client
from tests.kafkalite.schema_registry import SchemaRegistry

PACE_SECONDS = 2


def as_kafka_writes(topic_id: UUID) -> str:
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def rows(page: Any, label: str) -> Any:
    """The rows of a table that are on the page."""
    return page.get_by_role("grid", name=label, exact=True).locator(".grid-body [role=row]")


def test_the_token_leaves_the_address_and_stays_in_the_tab(
    opened: Open, ready: dict[str, Any]
) -> None:
    page = opened()
    assert "token" not in page.url
    page.reload()
    page.get_by_role("heading", name="Overview").wait_for()
    stranger = page.context.new_page()
    stranger.goto(ready["control"]["url"])
    stranger.get_by_label("Token").fill(ready["control"]["token"])
    stranger.get_by_role("button", name="Open").click()
    stranger.get_by_role("heading", name="Overview").wait_for()


def test_overview(opened: Open, k: Client) -> None:
    page = opened("overview")
    page.get_by_text("faults have not been applied yet").wait_for()
    assert rows(page, "Nodes").count() == 3
    page.get_by_role("img", name="Lag of all groups over time").wait_for()
    # Two members that poll send some requests every second.
    plot = page.get_by_role("img", name=re.compile(r"Requests a second over time. Now .*: [1-9]"))
    plot.wait_for()
    assert page.get_by_role("heading", name="Configs without effect").count() == 0
    k.create_topic("idle", configs={"preallocate": True})
    configs = rows(page, "Configs without effect")
    configs.get_by_text("preallocate").wait_for()
    assert "topic idle" in configs.first.inner_text()
    k.delete_topic("idle")
    rows(page, "Nodes").nth(2).get_by_role("button", name="Stop").click()
    page.get_by_text("Node 3 is down.").wait_for()
    assert [node.up for node in k.describe().nodes] == [True, True, False]
    rows(page, "Nodes").nth(2).get_by_role("button", name="Start").click()
    page.get_by_text("Node 3 is down.").wait_for(state="detached")


def test_topics_are_filtered_sorted_made_and_opened(opened: Open, k: Client) -> None:
    page = opened("topics")
    rows(page, "Topics").get_by_text("orders").wait_for()
    page.get_by_role("button", name="Records").click()
    page.get_by_role("button", name="Records").click()
    assert rows(page, "Topics").first.inner_text().startswith("orders")
    page.get_by_label("Filter topics").fill("PAY")
    rows(page, "Topics").get_by_text("orders").wait_for(state="detached")
    assert rows(page, "Topics").count() == 1
    assert "cleanup.policy=compact" in rows(page, "Topics").first.inner_text()
    assert "q=PAY" in page.url
    page.get_by_role("button", name="Create topic").click()
    page.get_by_label("Name").fill("pay-later")
    page.get_by_label("Partitions").fill("2")
    page.get_by_label("Configs, a line each").fill("retention.ms=60000\ncleanup.policy=delete")
    page.get_by_role("button", name="Create", exact=True).click()
    rows(page, "Topics").get_by_role("link", name="pay-later").click()
    page.get_by_role("heading", name="pay-later").wait_for()
    page.get_by_text(f"Topic id{as_kafka_writes(k.topic('pay-later').topic_id)}").wait_for()
    page.get_by_role("link", name="Configs").click()
    page.get_by_text("retention.ms").wait_for()
    made = k.topic("pay-later")
    assert (len(made.partitions), made.configs["retention.ms"]) == (2, "60000")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Topics", exact=True).wait_for()
    assert "pay-later" not in [each.name for each in k.topics()]


def test_a_refusal_is_said_and_the_form_stays(opened: Open) -> None:
    page = opened("topics")
    page.get_by_role("button", name="Create topic").click()
    page.get_by_label("Name").fill("orders")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("dialog").get_by_text("topic orders is not created").wait_for()
    assert page.get_by_label("Name").input_value() == "orders"


def test_records_are_searched_in_key_value_and_headers(opened: Open) -> None:
    page = opened("topics/orders")
    search = page.get_by_label("Search records")
    search.fill("POISON")
    page.get_by_text(f"1 record in {ORDERS + 1:,} searched").wait_for()
    row = rows(page, "Records").first
    assert '"order": 700' in row.inner_text()
    page.get_by_label("Search in", exact=True).select_option("value")
    page.get_by_text(f"0 records in {ORDERS + 1:,} searched").wait_for()
    page.get_by_label("Search in", exact=True).select_option("key")
    search.fill("customer-39")
    page.get_by_text(f"30 records in {ORDERS + 1:,} searched").wait_for()
    page.get_by_label("Partition", exact=True).select_option("2")
    page.get_by_text("10 records in").wait_for()


def test_a_record_is_shown_as_text_json_and_hex(opened: Open) -> None:
    page = opened("topics/orders?q=poison&at=1-233")
    record = page.get_by_role("complementary", name="The record")
    record.get_by_text('"order"').wait_for()
    record.get_by_role("radio", name="Hex").nth(1).click()
    assert "7b 22 6f 72 64 65 72 22" in record.get_by_label("Value as hex").inner_text()
    record.get_by_role("radio", name="Text").nth(1).click()
    shown = record.get_by_label("Value as text").inner_text()
    assert json.loads(shown)["order"] == 700
    record.get_by_text("trace-id").wait_for()
    page.keyboard.press("Escape")
    record.wait_for(state="detached")


_ORDER = {"type": "record", "name": "Order", "fields": [{"name": "city", "type": "string"}]}


@pytest.mark.parametrize(
    ("name", "schema", "data"),
    [
        ("Avro", {"schema": json.dumps(_ORDER)}, b"\x08Bern"),
        (
            "Protobuf",
            {
                "schema": 'syntax = "proto3"; message Order { string city = 1; }',
                "schemaType": "PROTOBUF",
            },
            b"\0\x0a\x04Bern",
        ),
        (
            "JSON Schema",
            {"schema": '{"title": "Order"}', "schemaType": "JSON"},
            b'{"city": "Bern"}',
        ),
    ],
)
def test_a_record_is_decoded_by_its_schema(
    opened: Open,
    k: Client,
    registry: SchemaRegistry,
    name: str,
    schema: dict[str, str],
    data: bytes,
) -> None:
    topic, schema_id = name.split()[0].lower(), 5 + len(registry.schemas)
    registry.schemas[schema_id] = schema
    k.create_topic(topic)
    k.produce(topic, b"\0" + schema_id.to_bytes(4) + data, key=b"\0\0\0\0\xffx")
    page = opened(f"topics/{topic}?at=0-0")
    record = page.get_by_role("complementary", name="The record")
    record.get_by_text(f"schema {schema_id} Order").wait_for()
    assert json.loads(record.get_by_label("Value as schema").inner_text()) == {"city": "Bern"}
    assert record.get_by_role("radio", name=name).get_attribute("aria-checked") == "true"
    record.get_by_text("/schemas/ids/255 answers 404").wait_for()
    k.delete_topic(topic)


def test_bytes_and_nothing_are_told_apart(opened: Open, k: Client) -> None:
    k.create_topic("bytes")
    for number in range(8):
        k.produce("bytes", bytes([0, number]) + b"\xff\x10pay", key=f"order-{number}")
    k.produce("bytes", None, key="order-7")
    page = opened("topics/bytes?from=oldest")
    table = rows(page, "Records")
    page.get_by_label("Search records").fill("order-0")
    table.get_by_text("00 00 ff 10 70 61 79").wait_for()
    page.get_by_label("Search records").fill("order-7")
    page.get_by_text("2 records in 9 searched").wait_for()
    assert "null" in table.nth(1).inner_text()
    k.delete_topic("bytes")


def test_records_from_an_offset_a_time_and_the_end(opened: Open) -> None:
    page = opened("topics/orders?partition=1&from=offset&offset=390")
    page.get_by_text("10 records").wait_for()
    assert rows(page, "Records").first.inner_text().split()[:2] == ["1", "390"]
    page.get_by_role("radio", name="Time").click()
    page.get_by_label("Time").fill("-1h")
    page.keyboard.press("Enter")
    page.get_by_text("200 records").wait_for()
    assert rows(page, "Records").first.inner_text().split()[:2] == ["1", "0"]
    page.get_by_label("Time").fill("2038-01-01 00:00")
    page.keyboard.press("Enter")
    page.get_by_text("0 records", exact=True).wait_for()
    page.get_by_label("Time").fill("soon")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("since is 'soon', which is not a duration").wait_for()
    page.get_by_role("radio", name="Newest").click()
    page.get_by_text("200 records").wait_for()
    # The page scrolls to the end once it has drawn the beginning.
    rows(page, "Records").get_by_text("399", exact=True).wait_for()
    assert rows(page, "Records").last.inner_text().split()[:2] == ["1", "399"]
    page.get_by_role("button", name="Show older ones").click()
    page.get_by_text("400 records").wait_for()


def test_what_is_being_typed_stays_when_the_view_is_drawn_again(opened: Open, k: Client) -> None:
    k.create_topic("typed")
    page = opened("topics/typed?from=time&time=-1h")
    page.get_by_text("0 records", exact=True).wait_for()
    page.get_by_label("Time").fill("2038-01-")
    k.produce("typed", "one")
    page.get_by_text("1 new").wait_for()
    assert page.get_by_label("Time").input_value() == "2038-01-"
    page.go_back()
    page.go_forward()
    page.get_by_text("1 record", exact=True).wait_for()
    assert page.get_by_label("Time").input_value() == "-1h"
    k.delete_topic("typed")


def test_following_pauses_and_goes_on_where_it_stopped(opened: Open, k: Client) -> None:
    k.create_topic("tail")
    page = opened("topics/tail")
    page.get_by_text("No records").wait_for()
    page.get_by_role("button", name="Follow").click()
    k.produce("tail", "one")
    rows(page, "Records").get_by_text("one").wait_for()
    page.get_by_role("button", name="Pause").click()
    k.produce("tail", "two")
    page.get_by_text("1 new").wait_for()
    assert rows(page, "Records").count() == 1
    page.get_by_role("button", name="Follow").click()
    rows(page, "Records").get_by_text("two").wait_for()
    k.produce("tail", "three")
    rows(page, "Records").get_by_text("three").wait_for()
    assert rows(page, "Records").count() == 3
    k.delete_topic("tail")


def test_a_record_is_produced(opened: Open, k: Client) -> None:
    k.create_topic("mine", 2)
    page = opened("topics/mine")
    page.get_by_role("button", name="Produce").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Value", exact=True).fill("hello")
    form.get_by_label("Key (empty: none)").fill("k")
    form.get_by_label("Partition").select_option("1")
    form.get_by_label("Headers, a line each").fill("kind: test")
    form.get_by_role("button", name="Produce").click()
    page.get_by_text("1 record written at mine-1, offset 0").wait_for()
    (record,) = k.records("mine", 1)
    assert (record.partition, record.key, record.value) == (1, "k", "hello")
    assert record.headers == {"kind": "test"}
    k.delete_topic("mine")


def test_partitions_lose_records(opened: Open, k: Client) -> None:
    k.create_topic("loses")
    k.produce("loses", "v", count=5)
    page = opened("topics/loses/partitions")
    page.get_by_role("button", name="Lose records").click()
    page.get_by_label("First offset that stays").fill("3")
    page.get_by_role("button", name="Lose", exact=True).click()
    page.get_by_text("They are gone").wait_for()
    assert k.topic("loses").partitions[0].start_offset == 3
    k.delete_topic("loses")


def test_a_group_with_members(opened: Open, k: Client) -> None:
    k.wait.group("billing", members=2, assigned=True, timeout="60s")
    k.wait.lag("billing", timeout="60s")
    page = opened("groups")
    rows(page, "Groups").get_by_role("link", name="billing").click()
    page.get_by_role("heading", name="billing").wait_for()
    rows(page, "Members").nth(1).wait_for()
    assert rows(page, "Members").count() == 2
    partitions = rows(page, "Partitions of the group")
    assert [line.split()[:2] for line in partitions.all_inner_texts()] == [
        ["orders", "0"],
        ["orders", "1"],
        ["orders", "2"],
    ]
    assert all("billing-" in line for line in partitions.all_inner_texts())
    page.get_by_role("img", name="Lag over time. Now orders: 0").wait_for()


def test_a_group_is_set_to_an_offset(opened: Open, k: Client) -> None:
    page = opened("groups/reporting")
    page.get_by_text("The group has no members.").wait_for()
    page.get_by_role("button", name="Seek").click()
    form = page.get_by_role("dialog")
    assert (
        form.get_by_role("spinbutton", name="Offset").input_value() == "401"
    )  # the end, to begin with
    form.locator("[name=to]").select_option("offset")
    form.get_by_role("spinbutton", name="Offset").fill("7")
    form.get_by_role("button", name="Seek").click()
    page.get_by_text("reporting goes on in orders from 7").wait_for()
    assert [each.offset for each in k.group("reporting").show().offsets] == [7, 7, 7]


def test_a_group_is_set_in_all_its_topics_at_once(opened: Open, k: Client) -> None:
    k.group("several").seek("orders", 3)
    k.group("several").seek("payments", 4)
    page = opened("groups/several")
    page.get_by_role("button", name="Seek").click()
    form = page.get_by_role("dialog")
    offset = form.get_by_role("spinbutton", name="Offset")
    assert offset.input_value() == "401"
    form.locator("[name=topic]").select_option("payments")
    ends = {each.partition: each.end_offset for each in k.topic("payments").partitions}
    for partition, end in ends.items():
        form.get_by_label("Partition").fill(str(partition))
        page.wait_for_function(
            "end => document.querySelector('dialog [name=offset]').value === end", arg=str(end)
        )
    form.locator("[name=topic]").select_option("all of its topics")
    form.get_by_label("Partition").fill("")
    form.get_by_role("button", name="Seek").click()
    page.get_by_text("several goes on in payments from earliest").wait_for()
    places = {(each.topic, each.offset) for each in k.group("several").show().offsets}
    assert places == {("orders", 0), ("payments", 0)}
    k.ask("groups.delete", group="several")


def test_what_is_cut_off_is_read_where_the_mouse_rests(opened: Open, k: Client) -> None:
    name = "a-topic.with-a-name.that-has-no-room." * 4 + "end"
    k.create_topic(name)
    page = opened("topics?q=topic.with")
    cells = rows(page, "Topics").first.get_by_role("gridcell")
    for number, title in ((0, name), (1, "")):
        cells.nth(number).hover()
        assert (cells.nth(number).get_attribute("title") or "") == title
    k.delete_topic(name)


def test_what_is_not_there_is_said(opened: Open) -> None:
    page = opened("overview")
    page.evaluate("location.hash = '#/default/topics/none'")
    page.get_by_text("there is no topic 'none'").wait_for()
    page.evaluate("location.hash = '#/default/topics/100%'")
    page.get_by_text("there is no topic '100%'").wait_for()


@pytest.mark.parametrize("view", ["overview", "requests"])
def test_an_open_page_asks_no_more_than_the_benchmark_does(opened: Open, view: str) -> None:
    """`conformance.benchmarks.window` replays a page: these are its questions and their pace."""
    page = opened(view)
    asked: Counter[str] = Counter()
    page.on("request", lambda each: asked.update([urlsplit(each.url).path.removeprefix("/v1")]))
    page.reload()
    began = time.monotonic()
    while not (asked.keys() >= VIEWS[view].keys() and time.monotonic() - began > PACE_SECONDS):
        assert time.monotonic() - began < 60, asked
        page.wait_for_timeout(100)
    of_views = {path for path in asked if path.startswith("/clusters")}
    assert of_views == VIEWS[view].keys()
    for path, pause in VIEWS[view].items():
        assert asked[path] <= (time.monotonic() - began) / pause + 2, path
