"""The spy is there while it is on, and nowhere while it is off."""

from __future__ import annotations

import time

from kafkalite.control.spy.handler import SpyHandler
from kafkalite.faults import silence
from kafkalite.testing import broker
from tests.kafkalite.control.clients import consumer, produced, producer


def handler_of(k: broker) -> object:
    """The object that new connections are given to answer their frames."""
    return k._running.connections._handler


def test_off_the_dispatcher_itself_answers(k: broker) -> None:
    """So requests pay nothing for the spy: not a call, not a branch."""
    dispatcher = k._running._dispatcher
    assert handler_of(k) is dispatcher
    k.ask("spy.set", mode="on")
    assert isinstance(handler_of(k), SpyHandler)
    k.ask("spy.set", mode="off")
    assert handler_of(k) is dispatcher


def test_connections_that_are_open_are_seen_too(k: broker) -> None:
    k.create_topic("t")
    made = producer(k)
    made.list_topics("t", 10)
    k.ask("spy.set", mode="on")
    made.produce("t", b"v")
    made.flush(10)
    k.ask("spy.set", mode="off")
    count = k.ask("spy.show").requests
    assert "Produce" in [each.api for each in k.ask("requests.list")]
    made.produce("t", b"v")
    made.flush(10)
    assert k.ask("spy.show").requests == count


def test_a_reset_and_a_restart_leave_it_on(k: broker) -> None:
    k.ask("spy.set", mode="on")
    k.reset()
    k.create_topic("t")
    assert produced(k) == [None]
    k.restart()
    assert isinstance(handler_of(k), SpyHandler)
    assert "Produce" in [each.api for each in k.ask("requests.list")]
    k.ask("spy.set", mode="off")


def test_full_keeps_the_records_of_a_fetch(k: broker) -> None:
    k.ask("spy.set", mode="full")
    k.create_topic("t")
    assert produced(k, "t", b"payload") == [None]
    reader = consumer(k)
    reader.subscribe(["t"])
    assert reader.poll(10) is not None
    reader.close()
    fetched = k.ask("requests.list", api="Fetch", topic="t", bodies=True)
    assert any("payload" in str(each.answer) for each in fetched)
    k.ask("spy.set", mode="off")


def test_a_request_that_is_never_answered_is_silent(k: broker) -> None:
    k.create_topic("t")
    k.ask("spy.set", mode="on")
    fault = k.fault("Produce", do=silence.before)
    made = producer(k, **{"socket.timeout.ms": 60_000})
    made.produce("t", b"v")
    k.wait.fault(fault)
    deadline = time.monotonic() + 30
    while (silent := k.ask("requests.list", api="Produce")[-1]).outcome == "waiting":
        assert time.monotonic() < deadline
    assert (silent.outcome, silent.fault, silent.answered_ms) == ("silent", fault.id, None)
    made.purge(in_queue=True, in_flight=True)
    k.ask("spy.set", mode="off")
