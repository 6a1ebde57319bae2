"""New partitions of a topic, made in steps, so that the change that shows them takes no time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkalite.cluster.image import NewPartitions, partition_state
from kafkalite.requests.slices import Steps
from kafkalite.wire.messages.stored.partition_record import PartitionRecord

_AT_ONCE: Final = 64


def gathered(records: Iterable[object]) -> Steps[list[object]]:
    """The changes that records of new topics and partitions add up to, in their order."""
    changes: list[object] = []
    for count, record in enumerate(records):
        if count % _AT_ONCE == 0:
            yield
        if not isinstance(record, PartitionRecord):
            changes.append(record)
            continue
        last = changes[-1] if changes else None
        if not isinstance(last, NewPartitions) or last.topic_id != record.topic_id:
            last = NewPartitions(record.topic_id, [])
            changes.append(last)
        last.states.append(partition_state(record))
    return changes
