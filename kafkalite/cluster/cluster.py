"""The cluster as a broker sees it: the metadata image, and what is worked out from it.

Every change goes through `applying`: the records are taken into the image, then told to all that
subscribed. A change is atomic among the broker's tasks, unless it is of very many configs: others
may then see some of it before the rest. It is in force when the last step is done.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple
from uuid import UUID

from msgspec import Struct

from kafkalite.cluster.features import SUPPORTED_FEATURES
from kafkalite.cluster.ids import Ids
from kafkalite.cluster.image import (
    ALL_BROKERS,
    BROKER_RECORDS,
    BrokerState,
    MetadataImage,
    NewPartitions,
    PartitionState,
)
from kafkalite.config import BrokerConfig
from kafkalite.requests.slices import Steps, WaitingSteps, at_once
from kafkalite.wire.api_keys import BROKER_RESOURCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord

Subscriber = Callable[[Sequence[object]], Steps[None] | None]
"""Is told the records of a change. What takes long is done in the steps that it returns."""

Decision = Callable[[], WaitingSteps[Sequence[object]]]
"""Makes records of the image as it is, in steps. It may be asked again, if that has changed."""


class Endpoint(Struct, frozen=True):
    """The address of a node on one listener. `security_protocol` as Kafka numbers it."""

    host: str
    port: int
    security_protocol: int = 0


class Node(Struct, frozen=True):
    """A living node; `endpoints` by listener name."""

    id: int
    rack: str | None
    endpoints: Mapping[str, Endpoint]


class NodeAddress(NamedTuple):
    """A node as clients of one listener see it."""

    id: int
    host: str
    port: int
    rack: str | None


def _no_check(node_id: int, listener_name: str, configs: Mapping[str, str]) -> WaitingSteps[None]:
    """Stores are checked where there is security."""
    yield from ()


class Cluster:
    """The image, and the functions to call after its changes. `cluster_id` as in meta.properties.

    Who decides what changes is another's business: the one process' own (sole_controller.py), or
    Apache Kafka's controllers (observed_cluster.py).
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        cluster_id: str,
        directory_ids: Sequence[UUID],
        place_log: Callable[[str, int], UUID] | None = None,
    ) -> None:
        """An empty image. `place_log` says in which data directory a new partition's log will
        lie."""
        self.cluster_id = cluster_id
        self.directory_ids = list(directory_ids)
        self.place_log = place_log or self._first_directory
        self.config = config
        self.ids = Ids()
        self.image = MetadataImage()
        self.nodes: dict[int, Node] = {}
        # The nodes of this process, registered or not, that are there or may come back.
        self.voters: set[int] = set()
        # Values that handlers computed from the metadata; every change empties it.
        self.cache: dict[Hashable, Any] = {}
        # The same by a topic's id as a number: empty for a topic after a change of it, or of any
        # node.
        self.topic_cache: dict[int, dict[Hashable, Any]] = {}
        self.configs_warned_of: set[str] = set()
        # Raises ConfigError for stores that a node's listener cannot have: its name, new configs.
        self.check_stores: Callable[[int, str, Mapping[str, str]], WaitingSteps[None]] = _no_check
        self._subscribers: list[Subscriber] = []

    def _first_directory(self, topic: str, index: int) -> UUID:
        return self.directory_ids[0]

    @property
    def epoch(self) -> int:
        """Changes with every change of the metadata, and only grows: the log's last offset."""
        return self.image.offset

    @property
    def controller_id(self) -> int:
        """The node that clients are told to ask for changes; every node can."""
        return min(self.nodes, default=-1)

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized features, but no more than an older release has."""
        release = self.config.release
        if release is None:
            return self.image.features
        levels = {name: release.level(name, at) for name, at in self.image.features.items()}
        return {name: level for name, level in levels.items() if level}

    @property
    def supported_features(self) -> Mapping[str, tuple[int, int]]:
        """The lowest and highest level of each feature."""
        release = self.config.release
        if release is None:
            return SUPPORTED_FEATURES
        return {
            name: (low, release.level(name, high))
            for name, (low, high) in SUPPORTED_FEATURES.items()
            if release.level(name, high) >= max(low, 1)
        }

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with the records of every change, once the image has them."""
        self._subscribers.append(subscriber)

    def apply(self, records: Sequence[object], offset: int) -> None:
        """The same as `applying`, now."""
        at_once(self.applying(records, offset))

    def applying(self, records: Sequence[object], offset: int) -> Steps[None]:
        """Take in records that stay; `offset` is that of the last: image first, then
        subscribers. A short change is a single step."""
        kinds = set(map(type, records))
        for count, record in enumerate(records, 1):
            self.image.apply(record)
            if count % _CONFIGS_AT_ONCE == 0 and kinds == {ConfigRecord}:
                yield
        self.image.offset = offset
        self.cache.clear()
        if not kinds.isdisjoint(_TOPIC_RECORDS):
            for record in records:
                if isinstance(record, _TOPIC_RECORDS):
                    self.topic_cache.pop(record.topic_id.int, None)
        if ClearElrRecord in kinds:
            self.topic_cache.clear()
        if not kinds.isdisjoint(BROKER_RECORDS):
            self.topic_cache.clear()
            self._rebuild_nodes()
        if ConfigRecord in kinds and any(
            isinstance(record, ConfigRecord) and record.resource_type == BROKER_RESOURCE
            for record in records
        ):
            self._apply_dynamic_configs()
        for steps in [subscriber(records) for subscriber in self._subscribers]:
            if steps is not None:
                yield from steps

    def addresses(self, listener_name: str) -> list[NodeAddress]:
        """The living nodes that have a listener of this name."""
        return self.endpoints(self.nodes, listener_name)

    def endpoints(self, node_ids: Iterable[int], listener_name: str) -> list[NodeAddress]:
        """The given nodes that live and have a listener of this name."""
        found: list[NodeAddress] = []
        for node_id in node_ids:
            node = self.nodes.get(node_id)
            endpoint = node.endpoints.get(listener_name) if node else None
            if node and endpoint:
                found.append(NodeAddress(node_id, endpoint.host, endpoint.port, node.rack))
        return found

    def unavailable(self, node_ids: Iterable[int], listener_name: str) -> list[int]:
        """The given nodes that clients of a listener cannot reach."""
        return [
            node_id
            for node_id in node_ids
            if node_id not in self.nodes or listener_name not in self.nodes[node_id].endpoints
        ]

    def offline_replicas(self, state: PartitionState, listener_name: str) -> list[int]:
        """The nodes that clients of a listener cannot reach, or that have lost their data."""
        offline = self.unavailable(state.replicas, listener_name)
        lost = self.image.lost_replicas(state)
        if lost:
            return [node for node in state.replicas if node in offline or node in lost]
        return offline

    @property
    def alive(self) -> frozenset[int]:
        """The ids of the nodes that are registered and not fenced."""
        return self.image.alive

    def _rebuild_nodes(self) -> None:
        self.nodes = {
            broker.node_id: _node(broker)
            for broker in self.image.brokers.values()
            if not broker.fenced
        }

    def _apply_dynamic_configs(self) -> None:
        configs = self.image.configs
        self.config.set_dynamic(None, configs.get((BROKER_RESOURCE, ALL_BROKERS), {}))
        for node_id in self.config.node_ids:
            properties = configs.get((BROKER_RESOURCE, str(node_id)), {})
            if properties or node_id in self.config.dynamic_by_node:
                self.config.set_dynamic(node_id, properties)

    # True if other processes decide.
    is_observed: ClassVar[bool] = False

    # For the controller alone

    def write(self, records: Sequence[object]) -> None:
        """Change the metadata. Raises KafkaError(NOT_CONTROLLER) where others decide."""
        if records:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)

    def writing(
        self, records: Sequence[object], changes: Sequence[object] | None = None
    ) -> WaitingSteps[None]:
        """The same as `write`, in steps."""
        yield None
        self.write(records)

    def begin_write(self, records: Sequence[object]) -> None:
        """Begin to change the metadata; the change gate takes it further. Raises KafkaError."""
        self.write(records)

    @property
    def is_changing(self) -> bool:
        """True if a change is on its way: it is in the log, and not in the image."""
        return False

    def settling(self) -> WaitingSteps[None]:
        """Complete the changes that are on their way, whether they succeed or fail."""
        yield None

    def settle(self) -> None:
        """`settling` in one go. Call it before a decision about a change, except in a handler."""

    def finishing(self) -> WaitingSteps[None]:
        """Complete the change that is on its way. Raises KafkaError if it fails."""
        yield None

    def deciding(self, decide: Decision) -> WaitingSteps[None]:
        """Write the records that `decide` makes of the image. Raises KafkaError."""
        self.write((yield from decide()))

    def catching_up_with(self, alive: frozenset[int]) -> WaitingSteps[None]:
        """Let new partitions follow the nodes that came or fell since `alive` lived."""
        yield None

    def losing_directories(self) -> WaitingSteps[None]:
        """If a data directory has failed, who lies in it leads no more. Raises KafkaError.

        Where others decide, they hear of it with a heartbeat.
        """
        yield None

    def catching_up(self) -> WaitingSteps[None]:
        """Let reassignments go on as far as the living nodes carry them."""
        yield None

    def balancing_leaders(self) -> WaitingSteps[None]:
        """Let preferred replicas lead what others lead, where they can (auto.leader.rebalance)."""
        yield None

    def unregistering(self, node_id: int) -> WaitingSteps[None]:
        """Forget a node that is gone. Raises KafkaError(NOT_CONTROLLER) where others decide."""
        raise KafkaError(ErrorCode.NOT_CONTROLLER)

    def has_producer_id(self, node_id: int) -> bool:
        """True if `allocate_producer_id` does not wait for a disk."""
        return True

    def taking_producer_ids(self, node_id: int) -> WaitingSteps[None]:
        """Let a node have producer ids. Raises KafkaError."""
        yield None

    def allocate_producer_id(self, node_id: int) -> int:
        """A producer id of its own. Raises KafkaError while there is none to be had."""
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    @property
    def leader_epoch(self) -> int:
        """The epoch of the metadata log's leader."""
        return -1

    @property
    def is_snapshot_due(self) -> bool:
        """True if it is time for a snapshot of the metadata (metadata.log.max.*)."""
        return False

    def begin_snapshot(self) -> Steps[Callable[[], object]]:
        """Make a function that writes a snapshot of the image. Only where one is due."""
        raise NotImplementedError

    def complete_snapshot(self) -> WaitingSteps[None]:
        """The snapshot is written."""
        raise NotImplementedError


_CONFIGS_AT_ONCE: Final = 1024
_TOPIC_RECORDS: Final = (NewPartitions, PartitionRecord, PartitionChangeRecord, RemoveTopicRecord)


def _node(broker: BrokerState) -> Node:
    return Node(
        broker.node_id,
        broker.rack,
        {
            endpoint.name: Endpoint(endpoint.host, endpoint.port, endpoint.security_protocol)
            for endpoint in broker.endpoints
        },
    )
