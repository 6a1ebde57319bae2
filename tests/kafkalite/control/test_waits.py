"""Time and waiting as verbs, with members that live and that die."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Self

import pytest

from kafkalite.client.errors import WaitTimeout
from kafkalite.control.problems import Problem
from kafkalite.faults import drop, silence
from kafkalite.testing import broker
from tests.kafkalite.control.clients import Polling, consumer, produced


def test_a_member_that_is_gone_is_taken_over_at_once(k: broker) -> None:
    k.create_topic("t", partitions=4)
    gone = consumer(k, **{"session.timeout.ms": 45000, "heartbeat.interval.ms": 500})
    gone.subscribe(["t"])
    while not gone.assignment():
        gone.poll(0.05)
    (first,) = k.group("g").show().members
    # A process that dies leaves its group without a word; its connections are closed by the kernel.
    k.fault("Heartbeat", member_id=first.member_id, times=None, optional=True, do=silence.before)
    k.fault("LeaveGroup", member_id=first.member_id, times=None, optional=True, do=silence.before)
    for each in k.connections():
        with suppress(Problem):  # one that is gone already
            k.close_connection(each.connection)
    closing = threading.Thread(target=gone.close)
    closing.start()
    with Polling(consumer(k, **{"heartbeat.interval.ms": 500}), "t"):
        k.wait.group("g", members=2, timeout="20s")
        began = time.monotonic()
        done = k.clock.advance("46s")
        assert done.expired_members == [first.member_id]
        k.wait.group("g", members=1, assigned=True)
        assert time.monotonic() - began < 5
        (left,) = k.group("g").show().members
        assert left.assigned == {"t": [0, 1, 2, 3]}
    k.faults.clear()
    closing.join()


@pytest.mark.slow
def test_members_that_live_outlive_a_week(k: broker) -> None:
    k.create_topic("t")
    with Polling(consumer(k), "t") as reader:
        k.wait.group("g", members=1, assigned=True)
        before = k.group("g").show()
        done = k.clock.advance("7d")
        assert (done.kept_members, done.expired_members) == (1, [])
        time.sleep(0.3)
        assert k.group("g").show().generation == before.generation
        assert reader.assignments == 1
        k.clock.advance("46s", members="expire")
        assert k.group("g").show().members == [] or reader.assignments == 1
        k.wait.group("g", members=1, assigned=True, timeout="20s")


# Waits


def test_what_is_missing_is_told(k: broker) -> None:
    k.create_topic("t")
    with pytest.raises(WaitTimeout, match="t has 0 of 3 records"):
        k.wait.records("t", 3, timeout="50ms")
    with pytest.raises(WaitTimeout, match="group billing does not exist"):
        k.wait.group("billing", members=1, timeout="50ms")
    with pytest.raises(WaitTimeout, match="there is no transactional id x"):
        k.wait.transaction("x", "Ongoing", timeout="50ms")
    fault = k.fault("EndTxn", optional=True, do=drop.after)
    with pytest.raises(WaitTimeout, match="no request of its API came"):
        k.wait.fault(fault, timeout="50ms")


def test_a_wait_ends_when_the_record_comes(k: broker) -> None:
    k.create_topic("t")
    later = threading.Timer(0.2, lambda: k.produce("t", "v"))
    later.start()
    waited = k.wait.records("t")
    assert 0 < waited.took_ms < 10_000  # the timeout
    assert waited.seen == {"records": 1}


def test_requests_are_counted_from_the_moment_of_asking(k: broker) -> None:
    k.create_topic("t")
    produced(k)
    later = threading.Timer(0.2, lambda: produced(k))
    later.start()
    waited = k.wait.request("Produce", topic="t", client_id="app")
    assert waited.seen == {"requests": 1}
    later.join()
    assert k.faults.list() == []


class Waiting:
    """A wait in a thread, which is under way when the block begins."""

    def __init__(self, wait: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(wait,), daemon=True)

    def _run(self, wait: Callable[[], object]) -> None:
        try:
            wait()
        except WaitTimeout as error:
            self.error = error

    def __enter__(self) -> Self:
        self._thread.start()
        time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert self.error is None, self.error


def test_a_wait_goes_on_with_the_broker_of_a_reset(k: broker) -> None:
    """Each is under way when the cluster is reset, and comes true after."""
    k.create_topic("t")
    k.produce("t", "before", count=3)
    until = {
        "records": lambda: k.wait.records("t", 4, timeout="30s"),
        "since now": lambda: k.wait.records("t", 3, since_now=True, timeout="30s"),
        "request": lambda: k.wait.request(api="Produce", count=2, timeout="30s"),
        "topic": lambda: k.wait.topic("t2", timeout="30s"),
        "committed": lambda: k.wait.committed("g", "t", 0, 2, timeout="30s"),
    }
    with ExitStack() as stack:
        waiting = [stack.enter_context(Waiting(each)) for each in until.values()]
        k.reset()
        k.create_topic("t")
        assert produced(k, "t", b"1", b"2") == [None, None]
        time.sleep(0.2)
        assert [each._thread.is_alive() for each in waiting] == [True, True, False, True, True]
        k.produce("t", "after", count=2)
        k.create_topic("t2")
        k.group("g").seek("t", 2)


def test_a_wait_for_new_records_does_not_take_those_of_a_restore(k: broker) -> None:
    k.create_topic("t")
    k.produce("t", "before", count=3)
    k.snapshot("three")
    try:
        with Waiting(lambda: k.wait.records("t", 2, since_now=True, timeout="30s")) as waiting:
            k.restore("three")
            time.sleep(0.3)
            assert waiting._thread.is_alive()
            k.produce("t", "after", count=2)
    finally:
        k.ask("snapshots.delete", snapshot="three")


def test_a_wait_for_requests_goes_on_counting_through_a_restart(k: broker) -> None:
    k.create_topic("t")
    with Waiting(lambda: k.wait.request(api="Produce", count=2, timeout="30s")):
        assert produced(k, "t", b"1") == [None]
        k.restart()
        assert produced(k, "t", b"2") == [None]


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_wait_goes_on_while_the_broker_is_restarted(is_durable: bool) -> None:
    """Its logs are closed by threads, which flush what was written."""
    with broker({"kafkalite.durable": is_durable}) as b:
        b.create_topic("t", partitions=20)
        for number in range(3):
            waiting = threading.Thread(target=b.wait.records, args=("t", 20 * (number + 1)))
            waiting.start()
            time.sleep(0.1)
            for partition in range(19):
                b.produce("t", "1", partition=partition)
            b.restart()
            b.produce("t", "1", partition=19)
            waiting.join(10)
            assert not waiting.is_alive()
        assert len(b.records("t")) == 60
