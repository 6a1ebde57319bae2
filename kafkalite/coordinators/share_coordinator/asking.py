"""Asking the share coordinator for partitions, as the APIs of its peers do.

Source of the rules: Kafka's ShareCoordinatorService.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from uuid import UUID

from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.slices import Steps, mapped, mapped_in_steps
from kafkalite.wire.error_messages import message_of
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.coordinators.share_adapter import ShareServices


class AskedPartition(Protocol):
    """A partition of a request."""

    partition: int


T = TypeVar("T")
P = TypeVar("P", bound=AskedPartition)


class AskedTopic(Protocol[P]):
    """A topic of a request."""

    topic_id: UUID
    partitions: list[P]


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The outcome for a partition: a result, or a code and words for why there is none."""

    partition: int
    result: T | None = None
    error_code: int = ErrorCode.NONE
    error_message: str | None = None


def ask_each(
    share: ShareServices,
    node_id: int,
    group_id: str,
    topics: Sequence[AskedTopic[P]],
    verb: str,
    work: Callable[[SharePartitionKey, P], T],
) -> Steps[list[tuple[UUID, list[Answer[T]]]]]:
    """`work` for each partition that this node coordinates, by topic. `verb` is for the errors.

    Nothing at all for a request without a group, or with a topic without partitions.
    """
    if not group_id or not all(topic.partitions for topic in topics):
        return []

    def ask(topic: AskedTopic[P]) -> Steps[tuple[UUID, list[Answer[T]]]]:
        asking = partial(_ask, share, node_id, group_id, topic.topic_id, verb=verb, work=work)
        return topic.topic_id, (yield from mapped(asking, topic.partitions))

    return (yield from mapped_in_steps(ask, topics))


def _ask(
    share: ShareServices,
    node_id: int,
    group_id: str,
    topic_id: UUID,
    asked: P,
    verb: str,
    work: Callable[[SharePartitionKey, P], T],
) -> Answer[T]:
    partition = asked.partition
    key = SharePartitionKey(group_id, topic_id, partition)
    try:
        share.coordinator.log.check_coordinator(key, node_id)
    except KafkaError as error:
        words = f"Unable to {verb}: {message_of(error)}"
        return Answer(partition, error_code=error.code, error_message=words)
    try:
        return Answer(partition, work(key, asked))
    except KafkaError as error:
        return Answer(partition, error_code=error.code, error_message=message_of(error))
