"""Events: numbered, stamped with both clocks, and bounded."""

from __future__ import annotations

from time import time_ns

from kafkalite.control.spy.events import MOST_EVENTS, Events


def test_an_event_has_both_times() -> None:
    events = Events(lambda: 42)
    before = time_ns()
    events.put("topic.created", "a test wants it", topic="t", partitions=3)
    (event,) = events.after(0)
    assert (event.seq, event.cluster_ms, event.kind) == (1, 42, "topic.created")
    assert event.about == {"topic": "t", "partitions": 3}
    assert event.why == "a test wants it"
    assert before <= event.at_ns <= time_ns()


def test_the_oldest_go_first() -> None:
    events = Events(lambda: 0, most=10)
    for number in range(25):
        events.put("k", number=number)
    assert [event.seq for event in events.after(0)] == list(range(16, 26))
    assert [event.about["number"] for event in events.after(23)] == [23, 24]
    assert len(events) == 10


def test_ten_thousand_are_kept() -> None:
    events = Events(lambda: 0)
    for _ in range(MOST_EVENTS + 5):
        events.put("k")
    assert len(events) == MOST_EVENTS == 10_000
