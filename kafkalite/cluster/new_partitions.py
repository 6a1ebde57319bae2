"""New partitions of a topic, made in steps, so that the change that shows them takes no time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from kafkalite.cluster.image import BROKER_RECORDS, MetadataImage, NewPartitions, partition_state
from kafkalite.requests.slices import Steps
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

_AT_ONCE: Final = 64
# A change of a partition whose replica is here takes up to 0.1 ms.
_TAKEN_IN_AT_ONCE: Final = 16


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


def gathered_decided(image: MetadataImage, records: Iterable[object]) -> Steps[list[object]]:
    """The same for what others decided, before the image has it.

    Only the first new partitions of a topic that follow each other are gathered. All else stays:
    new states of known partitions, above all. What is decided about brokers comes first, as the
    changes are taken in some at a time: a partition's leader looks at who lives when its in-sync
    replicas change, and the controllers fence a broker after its partitions (handleBrokerFenced).
    A new topic has no eligible leaders, so what clears them does not stand in the midst of it.
    """
    brokers: list[object] = []
    changes: list[object] = []
    ends: dict[UUID, int] = {}
    new_names: set[str] = set()
    for count, record in enumerate(records):
        if count % _AT_ONCE == 0:
            yield
        if isinstance(record, TopicRecord):
            new_names.add(record.name)
        elif isinstance(record, ClearElrRecord) and record.topic_name in new_names:
            continue
        elif isinstance(record, PartitionRecord):
            last = changes[-1] if changes else None
            topic_id, index = record.topic_id, record.partition_id
            if isinstance(last, NewPartitions) and last.topic_id == topic_id:
                if index == ends[topic_id]:
                    last.states.append(partition_state(record))
                    ends[topic_id] += 1
                    continue
            elif topic_id not in ends and index == _known_count(image, topic_id):
                changes.append(NewPartitions(topic_id, [partition_state(record)]))
                ends[topic_id] = index + 1
                continue
        (brokers if isinstance(record, BROKER_RECORDS) else changes).append(record)
    return brokers + changes


def _known_count(image: MetadataImage, topic_id: UUID) -> int:
    topic = image.topics_by_id.get(topic_id)
    return 0 if topic is None else len(topic.partitions)


def pieces(changes: Iterable[object]) -> Iterator[list[object]]:
    """Some changes at a time; a new topic comes whole, with its configs and partitions."""
    piece: list[object] = []
    is_in_topic = False
    for change in changes:
        is_in_topic = is_in_topic and isinstance(change, (ConfigRecord, NewPartitions))
        if len(piece) >= _TAKEN_IN_AT_ONCE and not is_in_topic:
            yield piece
            piece = []
        piece.append(change)
        is_in_topic = is_in_topic or isinstance(change, TopicRecord)
    if piece:
        yield piece
