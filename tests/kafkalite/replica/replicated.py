"""Topics of broker 1 under controllers, without a network: metadata in, replicas and logs out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from uuid import UUID

from kafkalite.cluster.observed_cluster import ObservedCluster
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.replica.partition_logs import PartitionLogs
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.replica.replicated_topics import ReplicatedTopics
from kafkalite.replication.replicas import Replicas
from kafkalite.replication.throttle import Throttle, Throttles
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.record_batch import Record, build_batch

ME, OTHER, THIRD = 1, 2, 3
TOPIC_ID = UUID(int=7)
NOW_MS = 1_700_000_000_000


class Replicated:
    """`roots` are its data directories; `asked` are topics asked of the controllers, `told`
    directories told to them."""

    def __init__(self, *roots: Path) -> None:
        config = BrokerConfig(
            {"log.dirs": ",".join(map(str, roots)), "listeners": "PLAINTEXT://127.0.0.1:0"}
        )
        self.asked: list[str] = []
        self.refusal: KafkaError | None = None
        self.told: list[tuple[UUID, int, UUID]] = []
        self.throttled_rate = inf
        self.logs = PartitionLogs(config, lambda: NOW_MS)
        self.cluster = ObservedCluster(
            config,
            cluster_id="c",
            directory_ids=self.logs.directory_ids,
            place_log=lambda name, index: self.logs.directory_ids[0],
            quorum_epoch=lambda: 1,
            new_producer_id=lambda: 1,
        )

        async def ask(request: object) -> object:
            raise AssertionError("nothing is sent here")

        self.replicas = Replicas(
            ME,
            brokers=self.cluster,
            broker_epoch=lambda: 10 + ME,
            address_of=lambda node_id: None,
            ask_controller=ask,
            throttles=Throttles(leader=Throttle(lambda: self.throttled_rate)),
        )
        self._offset = 0
        self._taker: ObservedCluster | ReplicatedTopics = self.cluster
        for node_id in (ME, OTHER, THIRD):
            epoch = 10 + node_id
            self.commit(RegisterBrokerRecord(broker_id=node_id, broker_epoch=epoch, fenced=True))
            self.commit(
                BrokerRegistrationChangeRecord(broker_id=node_id, broker_epoch=epoch, fenced=-1)
            )
        self.topics = self.new_topics()
        self._taker = self.topics

    def new_topics(self) -> ReplicatedTopics:
        """The topics of a start, before `opening`."""
        return ReplicatedTopics(
            self.cluster,
            self.logs,
            self.replicas,
            node_id=ME,
            ask_for=self._ask_for,
            tell_directory=lambda *told: self.told.append(told),
        )

    def _ask_for(self, new: NewTopic) -> KafkaError | None:
        self.asked.append(new.name)
        return self.refusal if new.retry_seconds else None

    def commit(self, *records: object) -> None:
        """The decisions of the controllers."""
        self._offset += 1
        changes = at_once(self.cluster.changes_of(records, is_snapshot=False))
        at_once(self._taker.taking_in(changes, self._offset))

    def create(
        self, leader: int, *replicas: int, name: str = "t", topic_id: UUID = TOPIC_ID
    ) -> ReplicatedPartition:
        """A topic of one partition; its replicas are all in sync."""
        self.commit(
            TopicRecord(name=name, topic_id=topic_id),
            PartitionRecord(
                partition_id=0,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=list(replicas),
                leader=leader,
                leader_epoch=0,
                partition_epoch=0,
                directories=[self.logs.directory_ids[0]] * len(replicas),
            ),
        )
        return self.partition(name)

    def change(self, **fields: object) -> None:
        """A change of the partition of topic t."""
        record = PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID)
        for name, value in fields.items():
            setattr(record, name, value)
        self.commit(record)

    def change_config(self, name: str, value: str | None) -> None:
        """A config of topic t; None takes it away."""
        self.commit(ConfigRecord(resource_type=2, resource_name="t", name=name, value=value))

    def partition(self, name: str = "t") -> ReplicatedPartition:
        topic = self.topics.get(name)
        assert topic is not None
        found = topic.partitions[0]
        assert isinstance(found, ReplicatedPartition)
        return found


def records(*values: bytes) -> bytes:
    return build_batch([Record(timestamp=NOW_MS, value=value) for value in values])


@contextmanager
def replicated(*roots: Path) -> Iterator[Replicated]:
    made = Replicated(*roots)
    try:
        yield made
    finally:
        made.logs.close()
