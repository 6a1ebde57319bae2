"""Many records in one call: they are in the log, and nobody else waits for them."""

from __future__ import annotations

import pytest
import trio

from kafkalite.control.problems import Problem
from kafkalite.control.questions import NewRecord
from kafkalite.server.watchdog import Watchdog
from kafkalite.testing import broker as test_broker

# More than any step of ours takes; what was done at once took more than a second.
_MOST_SECONDS = 0.1


async def test_many_records_keep_nobody_waiting(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t", 2, configs={"max.message.bytes": 100_000_000})
    records = [NewRecord("v", partition=index % 2, count=50_000) for index in range(8)]
    await k.ask("records.write", topic="t", records=[NewRecord("v", count=1000)])
    watchdog = Watchdog()
    trio.lowlevel.add_instrument(watchdog)
    await trio.lowlevel.checkpoint()  # which begins a step that is measured
    written = await k.ask("records.write", topic="t", records=records)
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(watchdog)
    assert watchdog.longest_work_seconds < _MOST_SECONDS, watchdog.longest
    assert len(written.places) == 400_000
    ends = [each.end_offset for each in (await k.topic("t")).partitions]
    assert ends == [201_000, 200_000]
    assert [each.value for each in await k.records("t", 1, from_=199_999, partition=1)] == ["v"]


async def test_more_than_a_batch_may_have_is_refused_before_it_is_built(
    broker: test_broker,
) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    records = [NewRecord("v" * 1000, count=100_000) for _ in range(1000)]
    began = trio.current_time()
    with pytest.raises(Problem, match=r"t-0 takes no records: .*100700000000 bytes"):
        await k.ask("records.write", topic="t", records=records)
    assert trio.current_time() - began < 5
