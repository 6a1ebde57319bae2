"""New topics and partitions: what Kafka checks, and the metadata records that make them.

Nothing is changed here. What is wrong is said in Kafka's words (ReplicationControlManager, Topic),
since tools show them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from msgspec import Struct, field

from kafkalite.cluster.image import unified
from kafkalite.cluster.operation_size import check_operation_size
from kafkalite.cluster.placement import place
from kafkalite.config import BrokerConfig, ConfigError, validate_topic_configs
from kafkalite.requests.slices import Steps
from kafkalite.requests.topic_names import (
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    check_creatable,
)
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

# Records made in one step.
_AT_ONCE: Final = 16


class NewTopic(Struct, frozen=True):
    """A requested topic. -1 means the broker's default. `assignments` are replicas by partition.

    `null_configs` are the configs that were given without a value, however often each.
    `retry_seconds`: so long a refusal of the controllers stands, and they are not asked again.
    `charge` is called with the number of partitions; it may raise KafkaError (quotas).
    """

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Mapping[str, str] = field(default_factory=dict[str, str])
    null_configs: Sequence[str] = ()
    retry_seconds: float = 0.0
    charge: Callable[[int], None] | None = None


class Growth(Struct, frozen=True):
    """A topic that is to have more partitions. `assignments` are the replicas of the new ones.

    `charge` is called with their number; it may raise KafkaError (quotas).
    """

    name: str
    total_count: int
    assignments: Sequence[Sequence[int]] | None = None
    charge: Callable[[int], None] | None = None


class CreatedTopic(Struct, frozen=True):
    """The topic that was made, or would have been."""

    topic_id: UUID
    partition_count: int
    replication_factor: int


class TopicCreation:
    """Plans new topics and partitions on a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # The start of the next placement: topics of one partition spread over the nodes.
        self._placed = 0

    def records(self, new: NewTopic) -> Steps[tuple[CreatedTopic, list[object]]]:
        """The records that create a topic. Raises KafkaError."""
        yield
        assignments = yield from self._check_new(new)
        if new.charge is not None:
            new.charge(len(assignments))
        topic_id = self._cluster.ids.uuid("topic")
        records: list[object] = [
            TopicRecord(name=new.name, topic_id=topic_id),
            *(
                ConfigRecord(
                    resource_type=TOPIC_RESOURCE, resource_name=new.name, name=name, value=value
                )
                for name, value in new.configs.items()
            ),
        ]
        yield from self._add_partition_records(records, new.name, topic_id, 0, assignments)
        return CreatedTopic(topic_id, len(assignments), len(assignments[0])), records

    def growth_records(self, growth: Growth) -> Steps[list[object]]:
        """The records that grow a topic. Raises KafkaError."""
        name, total_count, assignments = growth.name, growth.total_count, growth.assignments
        state = self._cluster.image.topics.get(name)
        if state is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        present = len(state.partitions)
        if total_count == present:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s)."
            )
        if total_count < present:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {present} partition(s); {total_count} would not "
                "be an increase.",
            )
        if assignments is not None and len(assignments) != total_count - present:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {total_count - present} additional partition(s), but only "
                f"{len(assignments)} assignment(s) were specified.",
            )
        if growth.charge is not None:
            growth.charge(total_count - present)
        check_operation_size(total_count - present)
        factor = len(state.partitions[0].replicas)
        if assignments is None:
            replicas = yield from self._place(total_count - present, factor, first=present)
        else:
            for index, assigned in enumerate(assignments):
                self._check_assignment(present + index, assigned, factor)
            replicas = [list(assigned) for assigned in assignments]
        records: list[object] = []
        yield from self._add_partition_records(records, name, state.topic_id, present, replicas)
        return records

    def _check_new(self, new: NewTopic) -> Steps[list[list[int]]]:
        """The replicas of each partition. Raises KafkaError."""
        check_creatable(new.name)
        image = self._cluster.image
        if new.name in image.topics:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{new.name}' already exists.")
        for colliding in sorted(image.topics_by_unified_name.get(unified(new.name), ())):
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{new.name}' collides with existing topic: {colliding}",
            )
        if new.null_configs:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"Null value not supported for topic configs: {','.join(new.null_configs)}",
            )
        try:
            validate_topic_configs(new.configs)
        except ConfigError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
        if new.assignments:
            return self._check_assignments(new)
        if new.replication_factor < -1 or new.replication_factor == 0:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if new.partition_count < -1 or new.partition_count == 0:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            )
        config = self._cluster.config
        count, factor = config.partition_count(new.partition_count), new.replication_factor
        if factor == -1:
            factor = config.integer("default.replication.factor")
        try:
            return (yield from self._place(count, factor))
        except KafkaError as error:
            raise KafkaError(
                error.code, f"Unable to replicate the partition {factor} time(s): {error.message}"
            ) from None

    def _place(self, count: int, factor: int, first: int | None = None) -> Steps[list[list[int]]]:
        brokers = self._cluster.image.brokers
        config = self._cluster.config
        racks = {
            node: broker.rack
            for node, broker in brokers.items()
            if not all(config.is_cordoned(each, node) for each in config.log_dirs)
        }
        fenced = frozenset(node for node in racks if brokers[node].fenced)
        if first is None:
            first = self._placed
        assignments = yield from place(racks, fenced, count, factor, first)
        self._placed += count
        return assignments

    def _check_assignments(self, new: NewTopic) -> list[list[int]]:
        for what, number in (
            ("replication factor", new.replication_factor),
            ("numPartitions", new.partition_count),
        ):
            if number != -1:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {what} was not set to -1.",
                )
        replicas: dict[int, list[int]] = {}
        factor = None
        for index, assigned in new.assignments:
            if index in replicas:
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            self._check_assignment(index, assigned, factor)
            factor = len(assigned)
            replicas[index] = list(assigned)
        if replicas.keys() != set(range(len(replicas))):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
        return [replicas[index] for index in range(len(replicas))]

    def _check_assignment(self, index: int, assigned: Sequence[int], factor: int | None) -> None:
        reason = check_manual_assignment(assigned, self._cluster.image.brokers.keys(), factor)
        if reason is None and not any(node in self._cluster.alive for node in assigned):
            reason = (
                "All brokers specified in the manual partition assignment for partition "
                f"{index} are fenced or in controlled shutdown."
            )
        if reason is not None:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)

    def _add_partition_records(
        self,
        records: list[object],
        name: str,
        topic_id: UUID,
        first: int,
        assignments: Sequence[Sequence[int]],
    ) -> Steps[None]:
        alive = self._cluster.alive
        for index, replicas in enumerate(assignments, first):
            if index % _AT_ONCE == 0:
                yield
            records.append(self._partition_record(name, topic_id, index, replicas, alive))

    def _partition_record(
        self,
        name: str,
        topic_id: UUID,
        index: int,
        replicas: Sequence[int],
        alive: Collection[int],
    ) -> PartitionRecord:
        in_sync = [node for node in replicas if node in alive]
        if not in_sync:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {len(replicas)} time(s): All brokers are "
                "currently fenced or in controlled shutdown.",
            )
        return PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=list(replicas),
            isr=in_sync,
            leader=in_sync[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=[self._cluster.place_log(name, index)] * len(replicas),
        )


def check_manual_assignment(
    assigned: Sequence[int], registered: Iterable[int], factor: int | None
) -> str | None:
    """The words of Kafka for a wrong list of replicas, or None."""
    start = "The manual partition assignment includes "
    if not assigned:
        return f"{start}an empty replica list."
    previous = None
    for node in sorted(assigned):
        if node not in set(registered):
            return f"{start}broker {node}, but no such broker is registered."
        if node == previous:
            return f"{start}the broker {node} more than once."
        previous = node
    if factor is not None and len(assigned) != factor:
        return (
            f"{start}a partition with {len(assigned)} replica(s), but this is not consistent with "
            f"previous partitions, which have {factor} replica(s)."
        )
    return None


def internal_topic(config: BrokerConfig, name: str) -> NewTopic:
    """An internal topic with the size and the configs that Kafka gives it."""
    prefix, factor, minimum, configs = _INTERNAL_CONFIGS[name]
    overrides: dict[str, str] = {
        **configs,
        "segment.bytes": str(config.integer(f"{prefix}.segment.bytes")),
    }
    if minimum:
        overrides["min.insync.replicas"] = str(config.integer(minimum))
    return NewTopic(
        name,
        config.integer(f"{prefix}.num.partitions"),
        config.integer(factor),
        configs=overrides,
    )


# name: (prefix of its configs, its replication factor, its min.insync.replicas, further configs)
_INTERNAL_CONFIGS: Final[Mapping[str, tuple[str, str, str | None, Mapping[str, str]]]] = {
    OFFSETS_TOPIC: (
        "offsets.topic",
        "offsets.topic.replication.factor",
        None,
        {"cleanup.policy": "compact", "compression.type": "producer"},
    ),
    TRANSACTIONS_TOPIC: (
        "transaction.state.log",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
        },
    ),
    SHARE_STATE_TOPIC: (
        "share.coordinator.state.topic",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
        {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
    ),
}
