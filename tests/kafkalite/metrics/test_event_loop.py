"""The lag of the event loop is measured."""

from __future__ import annotations

import threading

import trio

from kafkalite.testing import broker as test_broker
from tests.kafkalite.scraping import ON, scrape, value


async def test_the_event_loop_is_watched() -> None:
    async with test_broker(ON) as b:
        await trio.sleep(0.15)
        threading.Event().wait(0.4)  # what holds up everybody
        await trio.sleep(0.15)
        samples = await trio.to_thread.run_sync(scrape, b)
        assert value(samples, "event_loop_lag_seconds_sum") >= 0.25
        assert value(samples, "event_loop_lag_seconds_count") >= 2
        assert value(samples, "event_loop_longest_turn_seconds") >= 0
