"""Asking the share coordinator for partitions, as the APIs of its peers do.

Source of the rules: Kafka's ShareCoordinatorService.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.requests.slices import Steps, cut
from kafkalite.wire.error_messages import words_of
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.coordinators.share_adapter import ShareServices
    from kafkalite.requests.context import RequestContext


class AskedPartition(Protocol):
    """A partition of a request."""

    partition: int


T = TypeVar("T")
P = TypeVar("P", bound=AskedPartition)


class AskedTopic(Protocol[P]):
    """A topic of a request."""

    topic_id: UUID
    partitions: list[P]


class StateRequest(Protocol[P]):
    """A request for the states of a group's share partitions."""

    group_id: str

    @property
    def topics(self) -> Sequence[AskedTopic[P]]: ...


def ask_each(
    share: ShareServices,
    context: RequestContext,
    request: StateRequest[P],
    work: Callable[[SharePartitionKey, P], Mapping[str, object] | None],
    make_topic: Callable[..., T],
    make_partition: Callable[..., object],
    *,
    needs_partitions: bool = True,
) -> Steps[list[T]]:
    """`work` for each partition that this node coordinates; its results, by topic.

    `work` returns the fields of a partition's result, if there are any.
    Nothing at all for a request without a group; nor with a topic without partitions, unless this
    API just passes it over. A partition that is named twice is asked twice, and has the last
    result.
    """
    if not request.group_id:
        return []
    for some in cut(request.topics):
        if needs_partitions and not all(topic.partitions for topic in some):
            return []
        yield

    def ask(topic_id: UUID, asked: P) -> object:
        key = SharePartitionKey(request.group_id, topic_id, asked.partition)
        answer = partial(make_partition, partition=asked.partition)
        try:
            share.coordinator.log.check_coordinator(key, context.node_id)
        except KafkaError as error:
            verb = context.api_key.name.lower().replace("_", " ")
            words = f"Unable to {verb}: {words_of(error)}"
            return answer(error_code=error.code, error_message=words)
        try:
            return answer(**(work(key, asked) or {}))
        except KafkaError as error:
            return answer(error_code=error.code, error_message=words_of(error))

    results: dict[UUID, dict[int, object]] = {}
    for topic in request.topics:
        for asked in topic.partitions:
            yield
            of_topic = results.setdefault(topic.topic_id, {})
            of_topic[asked.partition] = ask(topic.topic_id, asked)
    made: list[T] = []
    for topic_id in list(results):
        made.append(make_topic(topic_id=topic_id, partitions=list(results.pop(topic_id).values())))
        yield
    return made
