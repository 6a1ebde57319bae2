"""The report of a test that failed: one line for each thing that happened, in their order."""

from __future__ import annotations

from kafkalite.client.report import event_line, group_lines, report, request_line
from kafkalite.control.answers import CommittedView, GroupView, MemberView
from kafkalite.control.sightings import EventView, RequestView
from kafkalite.faults import drop
from kafkalite.testing import broker

EVENT = EventView(
    seq=1,
    at_ms=5.0,
    cluster_ms=5,
    kind="group.left",
    about={"group": "g", "node": 1},
    why="it left",
)
REQUEST = RequestView(
    seq=7,
    connection="127.0.0.1:5",
    client_id="app",
    api="Produce",
    version=13,
    correlation_id=1,
    received_ms=10.0,
    cluster_ms=10,
    answered_ms=12.5,
    parked_ms=None,
    request_bytes=1,
    answer_bytes=1,
    outcome="answered",
    error="NOT_LEADER_OR_FOLLOWER",
    errors=["NOT_LEADER_OR_FOLLOWER"],
    topics=["orders"],
    fault="fault-1",
    why="",
)


def test_an_event_in_one_line() -> None:
    assert event_line(EVENT) == "group.left group=g node=1: it left"


def test_a_request_in_one_line() -> None:
    assert request_line(REQUEST) == (
        "#7 Produce v13 of app at 127.0.0.1:5 about orders -> NOT_LEADER_OR_FOLLOWER "
        "after 2.5 ms by fault fault-1"
    )


def test_a_group_with_its_lag() -> None:
    member = MemberView("m", None, "app", "/127.0.0.1", True, {}, None)
    offsets = [CommittedView("orders", 0, 4, 2, "")]
    group = GroupView("g", "classic", "Stable", 3, [member], offsets)
    assert list(group_lines(group)) == [
        "group g is Stable, generation 3: app at /127.0.0.1",
        "  orders-0 at 4, lag 2",
    ]


def test_the_last_lines_and_what_is_unfired() -> None:
    with broker(profile="test") as b:
        b.spy()
        for number in range(50):
            b.create_topic(f"t{number}")
        b.fault("EndTxn", id="idle", do=drop.after)
        lines = report(b).splitlines()
        assert len(lines) == 41
        topics = [line.rpartition("topic=")[2] for line in lines[:-1]]
        assert topics == [f"t{number}" for number in range(10, 50)]
        assert "fault idle was never applied" in lines[-1]
