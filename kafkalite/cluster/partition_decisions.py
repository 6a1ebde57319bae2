"""Decisions about every partition, in steps: the records that a change of the nodes asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER, PartitionState
from kafkalite.cluster.leadership import (
    Rules,
    after_loss,
    elect_preferred,
    with_leader,
)
from kafkalite.requests.slices import Steps
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord

if TYPE_CHECKING:
    from kafkalite.cluster.image import MetadataImage, TopicState
    from kafkalite.config import BrokerConfig

UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"
_AT_ONCE: Final = 64

LeaderChange = Callable[[UUID, int, PartitionState, Rules], PartitionChangeRecord | None]
PartitionChange = Callable[[UUID, int, PartitionState], PartitionChangeRecord | None]


def fenced(image: MetadataImage, config: BrokerConfig, node_id: int) -> Steps[list[object]]:
    """A node is gone: others lead what it led, if they can."""
    alive = image.alive - {node_id}

    def change(
        topic_id: UUID, index: int, state: PartitionState, rules: Rules
    ) -> PartitionChangeRecord | None:
        able = with_data(image, state, alive)
        return after_loss(topic_id, index, state, [node_id], able, rules)

    return _registered(image, config, node_id, 1, change)


def unfenced(image: MetadataImage, config: BrokerConfig, node_id: int) -> Steps[list[object]]:
    """A registered node is back."""
    alive = image.alive | {node_id}

    def change(
        topic_id: UUID, index: int, state: PartitionState, rules: Rules
    ) -> PartitionChangeRecord | None:
        if node_id not in state.replicas:
            return None
        return with_leader(topic_id, index, state, with_data(image, state, alive), rules)

    return _registered(image, config, node_id, -1, change)


def _registered(
    image: MetadataImage, config: BrokerConfig, node_id: int, fenced: int, change: LeaderChange
) -> Steps[list[object]]:
    """The change of a registration, and those of partitions after it."""
    broker_epoch = image.brokers[node_id].broker_epoch
    registration = BrokerRegistrationChangeRecord(
        broker_id=node_id, broker_epoch=broker_epoch, fenced=fenced
    )
    return [registration, *(yield from _leader_changes(image, config, change))]


def elected(image: MetadataImage, config: BrokerConfig) -> Steps[list[object]]:
    """Leaders for the partitions without one, where that is possible by now."""
    alive = image.alive

    def change(
        topic_id: UUID, index: int, state: PartitionState, rules: Rules
    ) -> PartitionChangeRecord | None:
        if state.leader_id != NO_LEADER:
            return None
        return with_leader(topic_id, index, state, with_data(image, state, alive), rules)

    return _leader_changes(image, config, change)


def lost(image: MetadataImage, config: BrokerConfig) -> Steps[list[object]]:
    """The replicas in a failed data directory lead no more, and are not in sync."""
    alive = image.alive

    def change(
        topic_id: UUID, index: int, state: PartitionState, rules: Rules
    ) -> PartitionChangeRecord | None:
        gone = image.lost_replicas(state)
        return after_loss(topic_id, index, state, gone, alive.difference(gone), rules)

    return _leader_changes(image, config, change)


def with_data(image: MetadataImage, state: PartitionState, alive: frozenset[int]) -> frozenset[int]:
    """The living nodes that can read a partition: all but those that have lost it."""
    gone = image.lost_replicas(state)
    return alive.difference(gone) if gone else alive


def balanced(image: MetadataImage) -> Steps[list[object]]:
    """Preferred replicas lead what others lead, where they can."""
    alive = image.alive

    def change(topic_id: UUID, index: int, state: PartitionState) -> PartitionChangeRecord | None:
        if state.leader_id == state.replicas[0]:
            return None
        return elect_preferred(topic_id, index, state, with_data(image, state, alive))

    return partition_changes(image, change)


def caught_up(image: MetadataImage) -> Steps[list[object]]:
    """Reassignments go on as far as the living nodes carry them."""
    from kafkalite.cluster.reassignment import catch_up  # rarely needed

    alive = image.alive

    def change(topic_id: UUID, index: int, state: PartitionState) -> PartitionChangeRecord | None:
        return catch_up(topic_id, index, state, with_data(image, state, alive))

    return partition_changes(image, change)


def partition_changes(image: MetadataImage, change: PartitionChange) -> Steps[list[object]]:
    """The records that `change` makes of the partitions, without None."""
    return _changes(image, lambda topic: change)


def _leader_changes(
    image: MetadataImage, config: BrokerConfig, change: LeaderChange
) -> Steps[list[object]]:
    """The same for a change that depends on the rules of the topic."""

    def of_topic(topic: TopicState) -> PartitionChange:
        rules = _rules(image, config, topic.name)
        return lambda topic_id, index, state: change(topic_id, index, state, rules)

    return _changes(image, of_topic)


def _changes(
    image: MetadataImage, of_topic: Callable[[TopicState], PartitionChange]
) -> Steps[list[object]]:
    records: list[object] = []
    for topic in list(image.topics.values()):
        change = of_topic(topic)
        for index, state in enumerate(topic.partitions):
            record = change(topic.topic_id, index, state)
            if record is not None:
                records.append(record)
            if index % _AT_ONCE == 0:
                yield
    return records


def _rules(image: MetadataImage, config: BrokerConfig, topic: str) -> Rules:
    configs = image.topic_configs(topic)
    min_in_sync = config.topic_value("min.insync.replicas", configs)
    unclean = config.topic_value(UNCLEAN_ELECTION, configs)
    assert isinstance(min_in_sync, int)
    return Rules(min_in_sync, bool(unclean))
