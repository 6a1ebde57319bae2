"""Requests and bytes of all clients, counted for a while."""

from __future__ import annotations

from typing import Final

import trio

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.durations import seconds
from kafkalite.control.sightings import CountTraffic, TrafficView

_LONGEST_SECONDS: Final = 60.0


async def count_traffic(cluster: ControlledCluster, request: CountTraffic) -> TrafficView:
    """Count requests and bytes for so long, at most a minute, and say how many there were.

    Requests pass a counter meanwhile, and none at other times.
    """
    patience = min(seconds(request.over, field="over"), _LONGEST_SECONDS)
    with cluster.spy.counting() as counts:
        before, began = counts.copied(), trio.current_time()
        await trio.sleep(patience)
        return counts.since(before, trio.current_time() - began)
