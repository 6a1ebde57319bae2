"""Appends records to a partition without a client."""

from __future__ import annotations

from typing import Any

from kafkalite.testing import broker as test_broker
from kafkalite.wire.record_batch import Record, build_batch


def fill(broker: test_broker, topic: str, index: int = 0, count: int = 10) -> Any:
    found = broker._running.services.topics.get(topic)
    assert found is not None
    partition = found.partitions[index]
    for _ in range(count):
        partition.append(build_batch([Record(value=b"x", timestamp=1)]))
    return partition
