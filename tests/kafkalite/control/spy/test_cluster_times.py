"""The cluster's time of a moment that is past, however the clock was set since then."""

from __future__ import annotations

from time import time_ns
from typing import Any

import trio

from kafkalite.control.clock import ClusterClock
from kafkalite.control.spy.cluster_times import ClusterTimes
from kafkalite.testing import broker
from kafkalite.wire.messages.metadata import MetadataRequest

DAY_MS = 86_400_000
# A reading of the machine's clock is rounded down.
ROUNDED_MS = 1
# While time is moved on, it goes on by itself.
LONGEST_ADVANCE_MS = 10_000


async def test_each_moment_has_the_time_that_the_clock_had() -> None:
    clock, times = ClusterClock(), ClusterTimes()
    seen: list[tuple[int, int, int]] = []
    for change in (
        lambda: None,
        lambda: clock.forward(86_400),
        lambda: clock.skew(-5000),
        clock.freeze,
        lambda: clock.forward(10),
        clock.run,
        clock.reset,
    ):
        change()
        times.note(clock)
        seen.append((time_ns(), clock.now_ms(), time_ns()))
        await trio.sleep(0.003)
    for before_ns, now_ms, after_ns in seen:
        assert times.at(before_ns) <= now_ms <= times.at(after_ns)
    # Before the first time that is known it was so, too.
    first_ns = seen[0][0]
    assert times.at(first_ns - 10**9) == times.at(first_ns) - 1000


async def test_a_setting_is_kept_once() -> None:
    clock, times = ClusterClock(), ClusterTimes()
    for change in (lambda: None, clock.freeze, lambda: clock.forward(10)):
        change()
        for _ in range(3):
            times.note(clock)
    assert len(times) == 3


async def test_a_request_has_both_times(broker: broker, client: Any) -> None:
    k = broker.asynchronous
    await k.spy("on")
    await client.ask(MetadataRequest(topics=[]))
    await k.clock.advance("1d")
    ahead_ms = (await k.clock.show()).ahead_ms
    await client.ask(MetadataRequest(topics=[]))
    await k.clock.freeze()
    stands_at = (await k.clock.show()).now_ms
    await client.ask(MetadataRequest(topics=[]))
    await k.clock.reset()
    before, later, frozen = await k.requests("Metadata")
    assert DAY_MS - LONGEST_ADVANCE_MS <= ahead_ms <= DAY_MS
    assert abs(before.cluster_ms - before.received_ms) <= ROUNDED_MS
    assert abs(later.cluster_ms - later.received_ms - ahead_ms) <= ROUNDED_MS
    assert frozen.cluster_ms == stands_at
