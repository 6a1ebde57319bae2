"""The metadata image: what all metadata records so far add up to (Kafka's MetadataImage).

Plain state and one way to change it: `apply(record)`. The same code replays the log at start and
takes every change while running, so that both lead to the same state. No other code writes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final
from uuid import UUID

from msgspec import Struct, field

from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from kafkalite.wire.messages.stored.register_broker_record import (
    BrokerEndpoint,
    RegisterBrokerRecord,
)
from kafkalite.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from kafkalite.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord

NO_LEADER: Final = -1
# PartitionChangeRecord.leader when the leader stays, without a new leader epoch.
NO_LEADER_CHANGE: Final = -2

# Ids of directories that say "not assigned" and "to be found out" (Kafka's DirectoryId).
_DIRECTORIES_UNKNOWN: Final = (0, 2)

# The broker resource with this name stands for all brokers.
ALL_BROKERS: Final = ""

# Records of which brokers there are, and which of them live.
BROKER_RECORDS: Final = (
    RegisterBrokerRecord,
    BrokerRegistrationChangeRecord,
    UnregisterBrokerRecord,
)

# A quota's entity: ((type, name), ...) in order of type; name None is the default entity.
QuotaEntity = tuple[tuple[str, str | None], ...]


class PartitionState(Struct):
    """The replicas and the leader of a partition (Kafka's PartitionRegistration)."""

    replicas: list[int]
    in_sync_replicas: list[int]
    leader_id: int
    leader_epoch: int
    partition_epoch: int
    directories: list[UUID] = field(default_factory=list[UUID])
    adding_replicas: list[int] = field(default_factory=list[int])
    removing_replicas: list[int] = field(default_factory=list[int])
    eligible_leader_replicas: list[int] = field(default_factory=list[int])
    last_known_eligible: list[int] = field(default_factory=list[int])
    leader_recovery_state: int = 0


class NewPartitions(Struct):
    """The states of a topic's next partitions: what as many PartitionRecords add up to."""

    topic_id: UUID
    states: list[PartitionState]


class TopicState(Struct):
    """A topic; a partition's index is its position in the list."""

    name: str
    topic_id: UUID
    partitions: list[PartitionState] = field(default_factory=list[PartitionState])


class BrokerState(Struct):
    """A registered broker. A fenced one is known, but leads nothing and is not shown to clients."""

    node_id: int
    incarnation_id: UUID
    broker_epoch: int
    endpoints: list[BrokerEndpoint]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    # Its registration, with `fenced` and `in_controlled_shutdown` as they were at that time.
    registration: RegisterBrokerRecord
    # The ids of its data directories that work; none where the registration names none.
    directories: frozenset[UUID] = frozenset()


class MetadataImage:
    """Everything the cluster remembers. `offset` is that of the last record taken in."""

    def __init__(self) -> None:
        self.offset = -1
        self.features: dict[str, int] = {}
        self.brokers: dict[int, BrokerState] = {}
        # A node without one is not there. Groups ask once per topic.
        self.racks: dict[int, str] = {}
        self.topics: dict[str, TopicState] = {}
        self.topics_by_id: dict[UUID, TopicState] = {}
        # Topics that a start finds deleted in the log; not kept up to date after it.
        self.deleted_topic_ids: set[UUID] | None = set()
        # Names that differ only in '.' and '_' would collide in the names of metrics.
        self.topics_by_unified_name: dict[str, set[str]] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.next_producer_id = 0
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = {}
        self.access_control_entries: dict[UUID, AccessControlEntryRecord] = {}
        self.delegation_tokens: dict[str, DelegationTokenRecord] = {}

    def apply(self, record: object) -> None:
        """Take in one record. Records that change nothing of ours are passed over."""
        change = self.CHANGES.get(type(record))
        if change is not None:
            change(self, record)

    @property
    def alive(self) -> frozenset[int]:
        """The ids of the nodes that are registered and not fenced."""
        return frozenset(node_id for node_id, broker in self.brokers.items() if not broker.fenced)

    def lost_replicas(self, state: PartitionState) -> list[int]:
        """The nodes whose replicas lie in a data directory that they have lost (KIP-858)."""
        if len(state.directories) != len(state.replicas):
            return []
        return [
            node_id
            for node_id, directory in zip(state.replicas, state.directories, strict=True)
            if self._is_lost(node_id, directory)
        ]

    def _is_lost(self, node_id: int, directory: UUID) -> bool:
        broker = self.brokers.get(node_id)
        return (
            broker is not None
            and bool(broker.directories)
            and directory.int not in _DIRECTORIES_UNKNOWN
            and directory not in broker.directories
        )

    def topic_configs(self, name: str) -> dict[str, str]:
        """A topic's own configs."""
        return self.configs.get((TOPIC_RESOURCE, name), {})

    def _feature_level(self, record: FeatureLevelRecord) -> None:
        if record.feature_level:
            self.features[record.name] = record.feature_level
        else:
            self.features.pop(record.name, None)

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self.brokers[record.broker_id] = BrokerState(
            node_id=record.broker_id,
            incarnation_id=record.incarnation_id,
            broker_epoch=record.broker_epoch,
            endpoints=record.end_points,
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            registration=record,
            directories=frozenset(record.log_dirs),
        )
        self.racks.pop(record.broker_id, None)
        if record.rack is not None:
            self.racks[record.broker_id] = record.rack

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self.brokers[record.broker_id]
        if record.fenced:  # 1 fences, -1 unfences, 0 leaves it
            broker.fenced = record.fenced > 0
        if record.in_controlled_shutdown:
            broker.in_controlled_shutdown = record.in_controlled_shutdown > 0
        if record.log_dirs:
            broker.directories = frozenset(record.log_dirs)

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self.brokers.pop(record.broker_id, None)
        self.racks.pop(record.broker_id, None)

    def _add_topic(self, record: TopicRecord) -> None:
        topic = TopicState(record.name, record.topic_id)
        self.topics[record.name] = topic
        self.topics_by_id[record.topic_id] = topic
        self.topics_by_unified_name.setdefault(unified(record.name), set()).add(record.name)

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self.topics_by_id.pop(record.topic_id)
        if self.deleted_topic_ids is not None:
            self.deleted_topic_ids.add(record.topic_id)
        del self.topics[topic.name]
        names = self.topics_by_unified_name[unified(topic.name)]
        names.discard(topic.name)
        if not names:
            del self.topics_by_unified_name[unified(topic.name)]
        self.configs.pop((TOPIC_RESOURCE, topic.name), None)

    def _add_partitions(self, new: NewPartitions) -> None:
        self.topics_by_id[new.topic_id].partitions.extend(new.states)

    def _set_partition(self, record: PartitionRecord) -> None:
        state = partition_state(record)
        partitions = self.topics_by_id[record.topic_id].partitions
        if record.partition_id < len(partitions):
            partitions[record.partition_id] = state
        else:
            assert record.partition_id == len(partitions), "partitions are numbered in order"
            partitions.append(state)

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        state = self.topics_by_id[record.topic_id].partitions[record.partition_id]
        state.partition_epoch += 1
        if record.leader != NO_LEADER_CHANGE:
            state.leader_id = record.leader
            state.leader_epoch += 1
        if record.leader_recovery_state >= 0:
            state.leader_recovery_state = record.leader_recovery_state
        for name, value in (
            ("in_sync_replicas", record.isr),
            ("replicas", record.replicas),
            ("removing_replicas", record.removing_replicas),
            ("adding_replicas", record.adding_replicas),
            ("directories", record.directories),
            ("eligible_leader_replicas", record.eligible_leader_replicas),
            ("last_known_eligible", record.last_known_elr),
        ):
            if value is not None:
                setattr(state, name, value)

    def clearing(self, record: ClearElrRecord) -> list[PartitionChangeRecord]:
        """The changes of partitions that a clearing of eligible leaders comes to now: one of each
        partition that has any, so that its partition epoch goes up."""
        name = record.topic_name
        topics = [self.topics[name]] if name in self.topics else []
        return [
            PartitionChangeRecord(
                partition_id=index,
                topic_id=topic.topic_id,
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for topic in (topics if name else self.topics.values())
            for index, state in enumerate(topic.partitions)
            if state.eligible_leader_replicas or state.last_known_eligible
        ]

    def _clear_eligible(self, record: ClearElrRecord) -> None:
        for change in self.clearing(record):
            self._change_partition(change)

    def _set_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        if record.value is not None:
            self.configs.setdefault(resource, {})[record.name] = record.value
            return
        configs = self.configs.get(resource, {})
        configs.pop(record.name, None)
        if not configs:
            self.configs.pop(resource, None)

    def _set_producer_ids(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    def _set_quota(self, record: ClientQuotaRecord) -> None:
        """Keep an entity's quotas in the order of Kafka's table: clients' own tests rely on it."""
        entity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
        quotas = dict(self.quotas.get(entity, {}))
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if quotas:
            self.quotas[entity] = {key: quotas[key] for key in in_map_order(quotas, room_for=1)}
        else:
            self.quotas.pop(entity, None)

    def _set_scram(self, record: UserScramCredentialRecord) -> None:
        self.scram_credentials[record.name, record.mechanism] = record

    def _remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        self.scram_credentials.pop((record.name, record.mechanism), None)

    def _set_acl(self, record: AccessControlEntryRecord) -> None:
        self.access_control_entries[record.id] = record

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        self.access_control_entries.pop(record.id, None)

    def _set_token(self, record: DelegationTokenRecord) -> None:
        self.delegation_tokens[record.token_id] = record

    def _remove_token(self, record: RemoveDelegationTokenRecord) -> None:
        self.delegation_tokens.pop(record.token_id, None)

    # The effect of each record; types not named here (transactions, no-ops, controllers) do
    # nothing.
    CHANGES: ClassVar[dict[type[Any], Callable[[MetadataImage, Any], None]]] = {
        AccessControlEntryRecord: _set_acl,
        BrokerRegistrationChangeRecord: _change_broker,
        ClearElrRecord: _clear_eligible,
        ClientQuotaRecord: _set_quota,
        ConfigRecord: _set_config,
        DelegationTokenRecord: _set_token,
        FeatureLevelRecord: _feature_level,
        NewPartitions: _add_partitions,
        PartitionChangeRecord: _change_partition,
        PartitionRecord: _set_partition,
        ProducerIdsRecord: _set_producer_ids,
        RegisterBrokerRecord: _register_broker,
        RemoveAccessControlEntryRecord: _remove_acl,
        RemoveDelegationTokenRecord: _remove_token,
        RemoveTopicRecord: _remove_topic,
        RemoveUserScramCredentialRecord: _remove_scram,
        TopicRecord: _add_topic,
        UnregisterBrokerRecord: _unregister_broker,
        UserScramCredentialRecord: _set_scram,
    }


def unified(topic_name: str) -> str:
    """A topic's name with '.' and '_' made one, as in the names of Kafka's metrics."""
    return topic_name.replace(".", "_")


def partition_state(record: PartitionRecord) -> PartitionState:
    """The state of a partition that a record sets."""
    return PartitionState(
        replicas=record.replicas,
        in_sync_replicas=record.isr,
        leader_id=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=record.directories,
        adding_replicas=record.adding_replicas,
        removing_replicas=record.removing_replicas,
        eligible_leader_replicas=record.eligible_leader_replicas or [],
        last_known_eligible=record.last_known_elr or [],
        leader_recovery_state=record.leader_recovery_state,
    )
