"""The acknowledgements of one request, for all its partitions (handleAcknowledgements)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

from kafkalite.replica.share.acknowledgement import (
    Acknowledgement,
    AcknowledgeType,
    RequestFailed,
    Settle,
    acknowledge,
)
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.share_sessions import SessionKey, TopicPartitionId
from kafkalite.requests.slices import AT_ONCE, Steps, batches, release_dict
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.replica.share.share_partitions import SharePartitions

RENEWALS_SINCE: Final = 2  # ShareFetch, ShareAcknowledge

Outcomes = Mapping[TopicPartitionId, KafkaError | None]
"""The outcome of the acknowledgements for a partition: None is "done"."""


class _Batch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class _Partition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def acknowledgement_batches(self) -> Sequence[_Batch]: ...


class _Topic(Protocol):
    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sequence[_Partition]: ...


class Saying(NamedTuple):
    """The request that acknowledges: whose it is, and what it may say.

    What it says counts at once, or when the caller settles what `later` gets. `done` is called for
    each partition of which something was said and done.
    """

    node_id: int
    member: SessionKey
    api_version: int
    is_renewal: bool
    may_read: Callable[[str], bool] | None = None
    later: deque[Settle] | None = None
    done: Callable[[TopicPartitionId], None] = lambda where: None


def acknowledging(
    partitions: SharePartitions, saying: Saying, topics: Sequence[_Topic]
) -> Steps[dict[TopicPartitionId, KafkaError | None]]:
    """Do as the member says, each partition on its own, of topics that it may read; the outcomes.

    Raises RequestFailed: the partitions before are done then.
    """
    outcomes: dict[TopicPartitionId, KafkaError | None] = {}
    asked: dict[TopicPartitionId, Sequence[_Batch]] = {}
    for topic in topics:
        topic_id = topic.topic_id
        for some in batches(topic.partitions):
            is_topic = partitions.is_topic(topic_id)
            for each in some:
                where = TopicPartitionId(topic_id, each.partition_index)
                if is_topic:
                    asked[where] = each.acknowledgement_batches
                else:
                    outcomes[where] = KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            yield
    for where in list(asked):
        error = yield from _refused(partitions, saying, where, asked[where])
        if error is not None:
            outcomes[where] = error
            del asked[where]
        yield
    if any(asked.values()):
        for where, said in asked.items():
            outcomes[where] = None
            if said:
                try:
                    _acknowledge(partitions, saying, where, said)
                    saying.done(where)
                except RequestFailed:
                    raise
                except KafkaError as error:
                    outcomes[where] = error
                yield
    if len(asked) > AT_ONCE:
        yield from release_dict(asked)
    return outcomes


def _refused(
    partitions: SharePartitions,
    saying: Saying,
    where: TopicPartitionId,
    said: Sequence[_Batch],
) -> Steps[KafkaError | None]:
    """The reason not to acknowledge anything of a partition."""
    most = AcknowledgeType.RENEW if saying.api_version >= RENEWALS_SINCE else AcknowledgeType.REJECT
    if not (yield from _are_sound(said, most, is_renewal=saying.is_renewal)):
        return KafkaError(ErrorCode.INVALID_REQUEST)
    may_read = saying.may_read
    if may_read is not None and not may_read(partitions.topic_name(where.topic_id) or ""):
        return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not partitions.is_known(where):
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return None


def _acknowledge(
    partitions: SharePartitions,
    saying: Saying,
    where: TopicPartitionId,
    listed: Sequence[_Batch],
) -> None:
    member = saying.member
    key = SharePartitionKey(member.group_id, where.topic_id, where.partition)
    share = partitions.get(key)
    if share is None or partitions.leader_of(where) != saying.node_id:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise KafkaError(code, default_message(code))
    said = [
        Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)
        for batch in listed
    ]
    try:
        acknowledge(share, member.member_id, said, saying.later)
    except KafkaError as error:
        partitions.drop_if_fenced(key, error)
        raise
    for each in said:
        if len(each.types) == 1:
            partitions.acknowledged[each.types[0]] += each.last_offset - each.first_offset + 1
        else:
            partitions.acknowledged.update(each.types)


def _are_sound(said: Sequence[_Batch], most: int, *, is_renewal: bool) -> Steps[bool]:
    """True if batches follow one another, and have one type for all offsets or one for each."""
    previous = -1
    for some in batches(said):
        for batch in some:
            types = batch.acknowledge_types
            if batch.first_offset > batch.last_offset or batch.first_offset < previous or not types:
                return False
            if len(types) > 1 and batch.last_offset - batch.first_offset != len(types) - 1:
                return False
            kinds = set(types) if len(types) <= AT_ONCE else (yield from _kinds(types))
            if any(not 0 <= kind <= most for kind in kinds):
                return False
            if AcknowledgeType.RENEW in kinds and not is_renewal:
                return False
            previous = batch.last_offset
        if len(said) > AT_ONCE:
            yield
    return True


def _kinds(types: Sequence[int]) -> Steps[set[int]]:
    kinds: set[int] = set()
    for some in batches(types):
        kinds.update(some)
        yield
    return kinds
