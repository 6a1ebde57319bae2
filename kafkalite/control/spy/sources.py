"""The sources of events: a broker's metadata, connections, groups, transactions and disks.

Each is asked to tell when a broker takes over. An event is a value that is put in a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER, NO_LEADER_CHANGE
from kafkalite.config.definition import Support
from kafkalite.config.sources import find
from kafkalite.coordinators.transaction_coordinator.transaction import Transaction, TransactionState
from kafkalite.requests.slices import AT_ONCE, Steps, at_once, batches, cut
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord

if TYPE_CHECKING:
    from kafkalite.control.answers import UnsupportedView
    from kafkalite.control.clock import ClusterClock
    from kafkalite.control.cluster import ControlledCluster
    from kafkalite.control.spy.events import Events
    from kafkalite.server.connection import Connection

_ENDED = {
    TransactionState.COMPLETE_COMMIT: "transaction.committed",
    TransactionState.COMPLETE_ABORT: "transaction.aborted",
}


def watch(cluster: ControlledCluster, events: Events) -> None:
    """Have the broker that serves now tell what changes."""
    broker = cluster.broker
    metadata = _Metadata(events)
    metadata.knows({each.name: each.topic_id for each in broker.services.topics.all()})
    broker.services.cluster.subscribe(metadata.changed)
    connections = _Connections(events)
    broker.connections.opened = connections.opened
    broker.connections.ended = connections.ended
    broker.services.transaction_coordinator.adopted = _Transactions(events).adopted
    happenings = broker.services.group_coordinator.happenings
    happenings.watcher, happenings.committed = events.put, cluster.spy.commits.committed
    broker.services.logs.failed_directory = lambda path, error: events.put(
        "log.offline", str(error), directory=str(path)
    )

    def segment(kind: str, why: str, /, *, log: str, base_offset: int) -> None:
        events.put(f"segment.{kind}", why, log=log, base_offset=base_offset)

    broker.services.logs.watch_segments(segment)
    given = broker.config.given
    # Most brokers have none, and begin without the module that knows more.
    if any((known := find(name)) is None or known.support is Support.ACCEPTED for name in given):
        from kafkalite.control.operations.unsupported import without_effect

        _tell_without_effect(events, without_effect("broker", {}, given))
    clock = cluster.clock
    clock.subscribe(lambda: events.put("clock.changed", _clock(clock)))


def _tell_without_effect(events: Events, found: Iterable[UnsupportedView]) -> None:
    for each in found:
        events.put("config.unsupported", each.why, resource=each.where, name=each.name)


def _clock(clock: ClusterClock) -> str:
    standing = "stands still" if clock.is_frozen else "runs"
    return f"it {standing}, {clock.ahead_ms} ms ahead, {clock.skew_ms} ms off"


class _Connections:
    """Connections come and go."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def opened(self, connection: Connection) -> None:
        """A client has connected."""
        node = connection.listener.node_id
        self._events.put("connection.opened", connection=str(connection), node=node)

    def ended(self, connection: Connection) -> None:
        """A connection is closed."""
        self._events.put(
            "connection.closed",
            connection.end_reason,
            connection=str(connection),
            node=connection.listener.node_id,
        )


class _Transactions:
    """Transactions begin, and end."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def adopted(self, before: Transaction | None, after: Transaction, why: str) -> None:
        """A transactional id is in another state, or has another producer."""
        put, name = self._events.put, after.transactional_id
        state = TransactionState.EMPTY if before is None else before.state
        if after.state is TransactionState.EMPTY:
            put("producer.began", why, transaction=name, epoch=after.producer_epoch)
        elif after.state is TransactionState.ONGOING and state is not TransactionState.ONGOING:
            put("transaction.began", why, transaction=name, epoch=after.producer_epoch)
        elif after.state in _ENDED:
            put(_ENDED[after.state], why, transaction=name, epoch=after.producer_epoch)
        elif why:
            put("producer.fenced", why, transaction=name, epoch=after.producer_epoch)


class _Metadata:
    """Topics, their leaders and configs, and nodes, as the records of the metadata tell."""

    def __init__(self, events: Events) -> None:
        self._events, self._put = events, events.put
        self._names: dict[UUID, str] = {}
        # The topics that the change at hand creates: their ids and their names.
        self._created: set[UUID] = set()
        self._created_names: set[str] = set()

    def knows(self, topics: dict[str, UUID]) -> None:
        """Topics that were there before."""
        self._names = {topic_id: name for name, topic_id in topics.items()}

    def changed(self, records: Sequence[object]) -> Steps[None] | None:
        """The metadata have these records now. Configs, which may be very many, are told after."""
        self._created, self._created_names = set(), set()
        configs = [record for record in records if isinstance(record, ConfigRecord)]
        for record in records if len(configs) < len(records) else ():
            match record:
                case ConfigRecord():
                    pass
                case TopicRecord():
                    self._names[record.topic_id] = record.name
                    self._created.add(record.topic_id)
                    self._created_names.add(record.name)
                    self._put("topic.created", topic=record.name)
                case RemoveTopicRecord():
                    self._put("topic.deleted", topic=self._names.pop(record.topic_id, ""))
                case PartitionRecord() | PartitionChangeRecord():
                    self._partition(record)
                case _:
                    self._node(record)
        steps = self._configs(configs, self._created_names)
        if len(configs) > AT_ONCE:
            return steps
        at_once(steps)
        return None

    def _configs(self, records: list[ConfigRecord], created: set[str]) -> Steps[None]:
        """Tell of configs; those that a topic was created with are not changes."""
        for some in cut(records):
            for record in some:
                self._config(record)
            yield
        for some in batches(records):
            self._events.put_each(
                "config.changed",
                (
                    {"resource": record.resource_name or "all", "name": record.name}
                    for record in some
                    if record.resource_type != TOPIC_RESOURCE or record.resource_name not in created
                ),
            )
            yield

    def _config(self, record: ConfigRecord) -> None:
        """Tell of one that was set and changes nothing here."""
        from kafkalite.control.operations.unsupported import of_resource

        if record.value is not None:
            resource = record.resource_type, record.resource_name
            given = {resource: {record.name: record.value}}
            _tell_without_effect(self._events, of_resource(given, resource))

    def _partition(self, record: PartitionRecord | PartitionChangeRecord) -> None:
        topic, index = self._names.get(record.topic_id, ""), record.partition_id
        if isinstance(record, PartitionRecord):
            if record.topic_id not in self._created:
                self._put("topic.grown", topic=topic, partition=index, leader=record.leader)
        elif record.leader == NO_LEADER:
            self._put("leader.lost", topic=topic, partition=index)
        elif record.leader != NO_LEADER_CHANGE:
            self._put("leader.moved", topic=topic, partition=index, leader=record.leader)

    def _node(self, record: object) -> None:
        match record:
            case RegisterBrokerRecord():
                self._put("node.up" if not record.fenced else "node.came", node=record.broker_id)
            case BrokerRegistrationChangeRecord() if record.fenced:
                kind = "node.down" if record.fenced > 0 else "node.up"
                self._put(kind, node=record.broker_id)
            case UnregisterBrokerRecord():
                self._put("node.removed", node=record.broker_id)
            case _:
                pass
