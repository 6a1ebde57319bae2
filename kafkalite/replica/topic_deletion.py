"""Deletion of topics: first the metadata forget them, then their partitions end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.replica.topic import PartitionLogs, Topic, tell_of_end
from kafkalite.requests.slices import WaitingSteps, release
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

TOPICS_AT_ONCE: Final = 500  # that come or go in one change


def deleting(
    cluster: Cluster, logs: PartitionLogs, by_id: Mapping[UUID, Topic], topic_ids: Iterable[UUID]
) -> WaitingSteps[dict[UUID, KafkaError]]:
    """Delete topics; those that do not exist any more are passed over.

    The errors are those of topics that are still there: the metadata cannot be written.
    """
    going = [topic for topic in map(by_id.get, topic_ids) if topic is not None]
    failed: dict[UUID, KafkaError] = {}
    gone: list[Topic] = []
    for start in range(0, len(going), TOPICS_AT_ONCE):
        some = going[start : start + TOPICS_AT_ONCE]
        try:
            yield from cluster.writing(
                [RemoveTopicRecord(topic_id=topic.topic_id) for topic in some]
            )
        except KafkaError as error:
            failed.update((topic.topic_id, error) for topic in some)
        else:
            gone += some
    yield from _ending(logs, gone)
    held = [[*topic.partitions, *topic.states] for topic in gone]
    going.clear()
    gone.clear()
    yield from release(held)
    return failed


def _ending(logs: PartitionLogs, gone: Sequence[Topic]) -> WaitingSteps[None]:
    for topic in gone:
        tell_of_end(topic)
        for partition in topic.partitions:
            partition.deleted()
            logs.delete(partition.topic, partition.index, partition.log)
            yield None
