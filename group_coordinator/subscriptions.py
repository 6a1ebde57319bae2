"""Subscriptions of members by name, or in a classic member's metadata.

Members of a classic consumer group exchange subscriptions and assignments (Kafka's
ConsumerProtocol: an int16 version, then the fields) that are opaque to the broker. It reads them
for two things all the same: to know which topics somebody subscribes to, and to let classic and new
members share a group (KIP-848).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from kafkalite.group_coordinator.assignors import Candidate, Target
from kafkalite.group_coordinator.modern_member import ModernMember
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.log.loggers import logger_of
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.stored import decode_front, encode

LAST_ASSIGNMENT_VERSION = 3
# Every version begins like this one. It is enough to know the topics, whatever follows: kafka-go,
# NestJS, Faust and Platformatic's client say version 1 and leave out what that has more.
ONLY_TOPICS = 0

# More than this is not read: a million names take half a second. The record of a group with so
# much is larger than a batch may be, unless `max.message.bytes` was raised.
MOST_BYTES = 1 << 20
MOST_TOPICS = 50_000
# Behind the version.
_TOPIC_COUNT = slice(2, 6)

logger = logger_of(__name__)

M = TypeVar("M", bound=ModernMember)


def subscription_from(
    metadata: bytes, group_id: str, member_id: str, version: int | None = None
) -> ConsumerProtocolSubscription | None:
    """A classic member's subscription; None if it is not in Kafka's form, or very large.

    It is read in the version that it says, or in `version`.
    """
    topic_count = _topic_count(metadata)
    if len(metadata) > MOST_BYTES or topic_count > MOST_TOPICS:
        logger.warning(
            "group %s: the subscription of member %s is not read: it has %d bytes, %d topics",
            group_id,
            member_id,
            len(metadata),
            topic_count,
        )
        return None
    try:
        return decode_front(ConsumerProtocolSubscription, metadata, version)
    except ProtocolViolation as violation:
        _warn("subscription", group_id, member_id, violation)
        return None


def _warn(what: str, group_id: str, member_id: str, violation: ProtocolViolation) -> None:
    words = "group %s: the %s of member %s is not in Kafka's form: %s"
    logger.warning(words, group_id, what, member_id, violation)


def topics_in(metadata: bytes) -> list[str]:
    """The topics of a subscription; none if it is not in Kafka's form."""
    try:
        return decode_front(ConsumerProtocolSubscription, metadata, ONLY_TOPICS).topics
    except ProtocolViolation:
        return []


def subscribed_topics_of(group_id: str, metadata: Mapping[str, bytes]) -> frozenset[str] | None:
    """All topics in subscriptions by member id.

    None if one of them is not in Kafka's form, or they are very large together.
    """
    # Members that have no partitions yet often say the same.
    distinct = {encoded: member_id for member_id, encoded in metadata.items()}
    size, count = sum(map(len, distinct)), sum(map(_topic_count, distinct))
    if size > MOST_BYTES or count > MOST_TOPICS:
        logger.warning(
            "group %s: its subscriptions are not read: %d bytes, %d topics", group_id, size, count
        )
        return None
    topics: set[str] = set()
    for encoded, member_id in distinct.items():
        subscription = subscription_from(encoded, group_id, member_id, ONLY_TOPICS)
        if subscription is None:
            return None
        topics.update(subscription.topics)
    return frozenset(topics)


def _topic_count(metadata: bytes) -> int:
    """The number of topics that a subscription says it names."""
    return max(int.from_bytes(metadata[_TOPIC_COUNT], "big", signed=True), 0)


def assignment_from(
    encoded: bytes, group_id: str, member_id: str
) -> ConsumerProtocolAssignment | None:
    """A classic member's assignment; None if it is not in Kafka's form."""
    if not encoded:
        return ConsumerProtocolAssignment()
    try:
        return decode_front(ConsumerProtocolAssignment, encoded)
    except ProtocolViolation as violation:
        _warn("assignment", group_id, member_id, violation)
        return None


def encoded_assignment(by_name: Mapping[str, Sequence[int]], subscription: bytes) -> bytes:
    """An assignment in the version that the member's subscription has."""
    version = min(int.from_bytes(subscription[:2], "big"), LAST_ASSIGNMENT_VERSION)
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=topic, partitions=list(partitions))
            for topic, partitions in by_name.items()
        ]
    )
    return encode(assignment, version)


def union_of(subscriptions: Iterable[frozenset[str]]) -> frozenset[str]:
    """All topics of these. Those of members with the same subscription are looked at once."""
    different = set(subscriptions)
    return next(iter(different)) if len(different) == 1 else frozenset[str]().union(*different)


def partition_counts(topics: Iterable[str], view: TopicsView) -> dict[UUID, int]:
    """Ids and partition counts of those topics that exist."""
    found: dict[UUID, int] = {}
    for name in topics:
        topic_id = view.topic_id(name)
        if topic_id is not None:
            found[topic_id] = view.partition_count(name)
    return found


class TopicIds:
    """Ids and partition counts of topics, as they are in one turn of the loop.

    Members that subscribe to the same topics, as most members of a group do, share one set of ids.
    """

    __slots__ = ("_counts", "_ids", "_view")

    def __init__(self, view: TopicsView) -> None:
        self._view = view
        self._counts: dict[frozenset[str], dict[UUID, int]] = {}
        self._ids: dict[frozenset[str], frozenset[UUID]] = {}

    def counts(self, topics: frozenset[str]) -> dict[UUID, int]:
        """The same as `partition_counts`."""
        found = self._counts.get(topics)
        if found is None:
            found = self._counts[topics] = partition_counts(topics, self._view)
        return found

    def of(self, topics: frozenset[str]) -> frozenset[UUID]:
        """The ids of those topics that exist."""
        found = self._ids.get(topics)
        if found is None:
            found = self._ids[topics] = frozenset(self.counts(topics))
        return found


def by_name(partitions: Mapping[UUID, Iterable[int]], view: TopicsView) -> dict[str, list[int]]:
    """Partitions by the names of those topics that still exist."""
    return {
        name: sorted(of_topic)
        for topic_id, of_topic in partitions.items()
        if (name := view.topic_name(topic_id)) is not None
    }


class Subscribed(Protocol[M]):
    """A group whose members subscribe to topics."""

    members: dict[str, M]
    targets: dict[str, Target]

    def topics_of(self, member: M) -> frozenset[str]: ...


def candidates(group: Subscribed[M], ids: TopicIds) -> list[Candidate]:
    """The members of a group, for an assignor."""
    return [
        Candidate(
            member.member_id,
            member.instance_id,
            ids.of(group.topics_of(member)),
            group.targets.get(member.member_id, {}),
        )
        for member in group.members.values()
    ]
