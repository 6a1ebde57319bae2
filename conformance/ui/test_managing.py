"""The buttons that change connections, partitions, groups and the cluster; a tab that is hidden."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from conformance.ui.conftest import Open
from conformance.ui.shop import Member
from conformance.ui.test_views import rows
from kafkalite.client.connecting import Client
from kafkalite.control.partitioner import by_key
from kafkalite.terminal.connection import Connection
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)

SECONDS = 60
# A page that is seen asks every second or more often.
QUIET_SECONDS = 3


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def topic(k: Client) -> Iterator[str]:
    """A topic of the test's own."""
    name = "managed"
    k.create_topic(name, 2, replication_factor=3)
    yield name
    k.delete_topic(name)


@pytest.fixture
def member(k: Client, topic: str) -> Iterator[str]:
    """The group of a consumer that reads the topic."""
    reader = Member(k, "managing", "managing-1", topic)
    k.wait.group("managing", members=1, assigned=True, timeout=f"{SECONDS}s")
    yield "managing"
    reader.close()


def test_a_connection_is_cut(opened: Open, k: Client) -> None:
    host, _, port = k.describe().bootstrap.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), SECONDS) as client:
        page = opened("overview")
        name = "{}:{}".format(*client.getsockname())
        row = rows(page, "Connections").filter(has_text=name)
        row.get_by_role("button", name="Cut").click()
        page.get_by_text("The connection is cut").wait_for()
        assert client.recv(1) == b""
        row.wait_for(state="detached")


def test_records_are_taken_out(opened: Open, k: Client, topic: str) -> None:
    k.produce(topic, "v", partition=1, count=5)
    page = opened(f"topics/{topic}/partitions")
    page.get_by_role("button", name="Make a gap").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Partition").fill("1")
    form.get_by_label("From offset").fill("1")
    form.get_by_label("To before offset").fill("3")
    form.get_by_role("button", name="Take out").click()
    page.get_by_text("There is a gap").wait_for()
    assert [each.offset for each in k.records(topic, 3)] == [0, 3, 4]


def test_leaders_are_moved(opened: Open, k: Client, topic: str) -> None:
    before = [each.leader for each in k.topic(topic).partitions]
    page = opened(f"topics/{topic}/partitions")
    page.get_by_role("button", name="Move leaders").click()
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    page.get_by_text("Others lead").wait_for()
    after = [each.leader for each in k.topic(topic).partitions]
    assert all(new != old for new, old in zip(after, before, strict=True))
    shown = rows(page, f"Partitions of {topic}")
    # The page looks at the topic anew now and then.
    until(lambda: [text.split()[1] for text in shown.all_inner_texts()] == [*map(str, after)])


def test_retention_is_applied_at_once(opened: Open, k: Client, topic: str) -> None:
    k.clock.freeze()  # else the broker may be faster, which looks after retention now and then
    k.create_topic("expired", configs={"retention.ms": 60_000})
    k.produce("expired", "v", count=4, timestamp="-1h")
    page = opened("topics/expired/partitions")
    page.get_by_role("button", name="Clean").click()
    page.get_by_role("dialog").get_by_role("button", name="Clean").click()
    page.get_by_text("4 records went").wait_for()
    assert k.topic("expired").partitions[0].start_offset == 4
    k.delete_topic("expired")
    k.clock.reset()


def test_a_group_goes_on_from_a_time(opened: Open, k: Client, topic: str) -> None:
    for age in ("-2h", "-10m", "-1s"):
        k.produce(topic, "v", timestamp=age)
    k.group("timed").seek(topic, "latest")
    page = opened("groups/timed")
    page.get_by_role("button", name="Seek").click()
    form = page.get_by_role("dialog")
    form.locator("select[name=to]").select_option("a time")
    form.get_by_label("Time", exact=True).fill("-1h")
    form.get_by_role("button", name="Seek").click()
    page.get_by_text(f"timed goes on in {topic} from -1h").wait_for()
    assert k.committed("timed", topic, 0) == 1


def test_a_record_goes_to_the_partition_of_its_key(opened: Open, k: Client, topic: str) -> None:
    page = opened(f"topics/{topic}")
    page.get_by_role("button", name="Produce").click()
    form = page.get_by_role("dialog")
    form.locator("textarea[name=value]").fill("v")
    form.get_by_label("Key").fill("by-hand-1")
    form.get_by_label("Partition").select_option("as Java chooses")
    form.get_by_role("button", name="Produce").click()
    partition = by_key(b"by-hand-1", len(k.topic(topic).partitions))
    page.get_by_text(f"1 record written at {topic}-{partition}, offset 0").wait_for()


def test_a_member_is_let_go_and_comes_back(opened: Open, k: Client, member: str) -> None:
    (before,) = k.group(member).show().members
    page = opened(f"groups/{member}")
    rows(page, "Members").first.get_by_role("button", name="Expire").click()
    page.get_by_text("was let go").wait_for()
    expired = [each.about["member"] for each in k.events(kind="group.expired")]
    assert before.member_id in expired
    until(lambda: [each.member_id for each in k.group(member).show().members] != [])
    k.wait.group(member, members=1, assigned=True, timeout=f"{SECONDS}s")
    (after,) = k.group(member).show().members
    assert after.member_id != before.member_id


def test_a_rebalance_is_begun(opened: Open, k: Client, member: str) -> None:
    before = k.group(member).show()
    page = opened(f"groups/{member}")
    page.get_by_role("button", name="Rebalance").click()
    page.get_by_text("A rebalance has begun").wait_for()
    until(lambda: k.group(member).show().generation > before.generation)
    k.wait.group(member, members=1, assigned=True, timeout=f"{SECONDS}s")
    assert [each.member_id for each in k.group(member).show().members] == [
        each.member_id for each in before.members
    ]


def test_a_cluster_is_reset(opened: Open, k: Client) -> None:
    """A cluster of its own: the shop is in the default one."""
    address = k.ask("clusters.create", name="own").bootstrap
    own = k.on("own")
    own.create_topic("old")
    page = opened("overview")
    page.evaluate("location.hash = '#/own/overview'")
    page.get_by_role("heading", name="own").wait_for()
    page.get_by_role("button", name="Reset").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    page.locator("dl.facts").filter(has_text="Resets").wait_for()
    assert own.topics() == []
    assert address in page.locator("dl.facts").inner_text()
    assert "orders" in [each.name for each in k.topics()]
    k.ask("clusters.delete", cluster="own")


@pytest.mark.parametrize("view", ["overview", "requests"])
def test_a_hidden_tab_asks_nothing(opened: Open, view: str) -> None:
    page = opened(view)
    asked: list[float] = []
    page.on("request", lambda request: asked.append(time.monotonic()))
    see(page, is_hidden=True)
    began, deadline = time.monotonic(), time.monotonic() + SECONDS
    while time.monotonic() - max([began, *asked]) < QUIET_SECONDS:
        assert time.monotonic() < deadline, f"{len(asked)} requests of a hidden tab"
        page.wait_for_timeout(100)
    before = len(asked)
    see(page, is_hidden=False)
    while len(asked) == before:
        assert time.monotonic() < deadline + SECONDS
        page.wait_for_timeout(100)


def see(page: Any, *, is_hidden: bool) -> None:
    """Tell the page what a browser tells it when another tab is chosen."""
    page.evaluate(
        """(isHidden) => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def test_a_group_of_kafka_streams_shows_the_partitions_it_reads(
    opened: Open, k: Client, topic: str
) -> None:
    group = "streaming"
    with closing(coordinator_of(k, group)) as connection:
        joined = connection.ask(
            StreamsGroupHeartbeatRequest(
                group,
                "s-1",
                rebalance_timeout_ms=SECONDS * 1000,
                topology=Topology(1, [Subtopology("0", [topic])]),
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
                process_id="p",
            )
        )
        assert joined.error_code == 0, joined
        page = opened("groups")
        row = rows(page, "Groups").filter(has_text=group)
        row.wait_for()
        assert "streams" in row.inner_text().split()
        row.get_by_role("link", name=group).click()
        rows(page, "Members").filter(has_text="s-1").get_by_text(topic).wait_for()
        partitions = rows(page, "Partitions of the group")
        partitions.nth(1).wait_for()
        lines = [each.split() for each in partitions.all_inner_texts()]
        assert [(line[0], line[1], line[-1]) for line in lines] == [
            (topic, "0", "s-1"),
            (topic, "1", "s-1"),
        ]
        connection.ask(StreamsGroupHeartbeatRequest(group, "s-1", -1))


def coordinator_of(k: Client, group: str) -> Connection:
    """A connection to the node that coordinates a group, once it does."""
    host, _, port = k.describe().bootstrap.split(",")[0].rpartition(":")
    with closing(Connection(host, int(port), {})) as first:
        [found] = first.ask(FindCoordinatorRequest(coordinator_keys=[group])).coordinators
    return Connection(found.host, found.port, {})
