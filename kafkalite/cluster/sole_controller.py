"""The controller of a cluster that is one process: one metadata log, several nodes over it.

Every change goes through `write`: the records are appended to the metadata log first, then applied.
There is no other way to change the image.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from kafkalite.cluster.cluster import Cluster, Decision, Endpoint
from kafkalite.cluster.features import SUPPORTED_FEATURES, check_supported
from kafkalite.cluster.ids import Ids
from kafkalite.cluster.image import NO_LEADER
from kafkalite.cluster.image_records import bootstrap_records, records_of
from kafkalite.cluster.leadership import after_restart
from kafkalite.cluster.metadata_log import MetadataLog
from kafkalite.cluster.metadata_writer import MetadataWriter
from kafkalite.cluster.partition_decisions import (
    UNCLEAN_ELECTION,
    balanced,
    caught_up,
    elected,
    fenced,
    lost,
    partition_changes,
    unfenced,
)
from kafkalite.config import BrokerConfig
from kafkalite.requests.slices import Steps, WaitingSteps, at_once, release
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from kafkalite.wire.messages.stored.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from kafkalite.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord

# Ids left over in a block at a restart are never handed out, as in Kafka's ProducerIdsBlock.
PRODUCER_ID_BLOCK_SIZE: Final = 1000

# The attempts to make a snapshot in slices; after that it is made in one go.
_SNAPSHOT_TRIES: Final = 5
_RECORDS_AT_ONCE: Final = 64

# The attempts to take a decision, if the metadata change while it is taken.
_DECISION_TRIES: Final = 5


class SoleController(Cluster):
    """The image, and what may be done to it."""

    def __init__(
        self,
        log: MetadataLog,
        config: BrokerConfig,
        *,
        cluster_id: str,
        directory_ids: Sequence[UUID],
        place_log: Callable[[str, int], UUID] | None = None,
        failed_directories: Callable[[], Collection[UUID]] = tuple,
    ) -> None:
        """Replays the log; no node is there before `start`. `failed_directories` are ids of those
        whose disks have failed.

        Raises KafkaError: the records contradict each other, or are a newer broker's.
        """
        super().__init__(
            config, cluster_id=cluster_id, directory_ids=directory_ids, place_log=place_log
        )
        self._log = log
        self._failed_directories = failed_directories
        self._writer = MetadataWriter(log, self._taking_in)
        # Many changes before any client hears of them: flushed together.
        self._is_starting = False
        # A change of the rules may give partitions a leader that have none.
        self._must_elect = False
        self._producer_ids: dict[int, deque[int]] = defaultdict(deque)
        for offset, record in log.replay():
            try:
                self.image.apply(record)
            except LookupError as error:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"metadata at offset {offset}: {type(record).__name__} of nothing there is",
                ) from error
            self.image.offset = offset
        check_supported(self.image.features)
        self.ids = Ids(config.seed, log.leader_epoch)
        self._apply_dynamic_configs()

    @property
    def leader_epoch(self) -> int:
        """The epoch of the metadata log's leader: how often this cluster was started."""
        return self._log.leader_epoch

    def end(self) -> None:
        """Write no more: every change is refused from now on."""
        self._log.end()

    def write(self, records: Sequence[object]) -> None:
        """Change the metadata: log, image, subscribers, in this order."""
        at_once(self.writing(records))

    def writing(
        self, records: Sequence[object], changes: Sequence[object] | None = None
    ) -> WaitingSteps[None]:
        """The same as `write`, in steps; everything changes with the last of them.

        `changes` are what the records add up to, where the image can take that in faster.
        """
        if not records:
            return
        batch = yield from self._log.encoded(records)
        yield from self.settling()
        self._append(batch, records if changes is None else changes)
        yield from self.finishing()

    def begin_write(self, records: Sequence[object]) -> None:
        """Append a change; it is taken in when it is on the disk (see `finishing`)."""
        if records:
            batch = at_once(self._log.encoded(records))
            self.settle()
            self._append(batch, records)

    def deciding(self, decide: Decision) -> WaitingSteps[None]:
        """Write the records that `decide` makes of the image, in steps. Raises KafkaError.

        It decides anew if the metadata have changed meanwhile; the last time in one step.
        """
        for tries_left in reversed(range(_DECISION_TRIES)):
            yield from self.settling()
            offset = self.image.offset
            steps = self._decided(decide)
            records, batch = (yield from steps) if tries_left else at_once(steps)
            if self.image.offset == offset and not self.is_changing:
                if records:
                    self._append(batch, records)
                    yield from self.finishing()
                return

    def _decided(self, decide: Decision) -> WaitingSteps[tuple[Sequence[object], bytes]]:
        records = yield from decide()
        return records, (yield from self._log.encoded(records)) if records else b""

    def _append(self, batch: bytes, changes: Sequence[object]) -> None:
        # No client hears of a change before it is on the disk, as in Kafka.
        self._writer.append(batch, changes, must_flush=not self._is_starting)

    def _taking_in(self, changes: Sequence[object], offset: int) -> Steps[None]:
        yield from self.applying(changes, offset)
        for each in changes:
            if isinstance(each, ConfigRecord) and each.name == UNCLEAN_ELECTION:
                self._must_elect = True
            elif isinstance(each, ProducerIdsRecord):
                end = each.next_producer_id
                block = range(end - PRODUCER_ID_BLOCK_SIZE, end)
                self._producer_ids[each.broker_id].extend(block)

    @property
    def is_changing(self) -> bool:
        """True if a change is on its way: it is in the log, and not in the image."""
        return self._writer.on_its_way is not None or self._must_elect

    def settling(self) -> WaitingSteps[None]:
        """Complete the changes that are on their way, whether they succeed or fail."""
        yield from self._writer.settling()
        yield from self._electing()

    def settle(self) -> None:
        """The same, now: to be called before a decision about a change, unless in a handler."""
        at_once(self.settling())

    def finishing(self) -> WaitingSteps[None]:
        """Complete the change that is on its way. Raises KafkaError if it fails."""
        yield from self._writer.finishing()
        yield from self._electing()

    def _electing(self) -> WaitingSteps[None]:
        if self._must_elect:
            self._must_elect = False
            yield from self.deciding(partial(elected, self.image, self.config))

    # Nodes

    def start(self, endpoints: Mapping[int, Mapping[str, Endpoint]]) -> None:
        """Bring up the nodes of this process, at these addresses (by node id and listener name).

        Nodes of an earlier start that are not among them are fenced. Leaders that were there
        before get a new leader epoch. Raises KafkaError: the storage was formatted for another
        release, or what it was formatted with cannot be read.
        """
        self._is_starting = True
        self._log.become_leader(min(endpoints), sorted(endpoints))
        if not self.image.features:
            self.write(bootstrap_records(self.config, self._log.formatted_with()))
            check_supported(self.image.features)
        restarted = at_once(partition_changes(self.image, after_restart))
        self.write([record for record in restarted if _resigns(record)])
        for node_id in sorted(self.image.brokers.keys() - endpoints.keys()):
            if not self.image.brokers[node_id].fenced:
                self.fence(node_id)
        for node_id in sorted(endpoints):
            at_once(self.registering(node_id, endpoints[node_id]))
        self.write([record for record in restarted if self._is_led_by(record)])
        self.write(at_once(lost(self.image, self.config)))
        self._is_starting = False
        self._log.flush()

    def _is_led_by(self, record: object) -> bool:
        assert isinstance(record, PartitionChangeRecord)
        topic = self.image.topics_by_id[record.topic_id]
        leader_id = topic.partitions[record.partition_id].leader_id
        return not _resigns(record) and leader_id == record.leader

    def registering(self, node_id: int, endpoints: Mapping[str, Endpoint]) -> WaitingSteps[None]:
        """A node comes up: it joins the in-sync replicas of all it holds, and may lead."""
        self.voters.add(node_id)
        yield from self.deciding(partial(self._registration, node_id, endpoints))
        yield from self.unfencing(node_id)

    def _registration(
        self, node_id: int, endpoints: Mapping[str, Endpoint]
    ) -> Steps[Sequence[object]]:
        record = RegisterBrokerRecord(
            broker_id=node_id,
            incarnation_id=self.ids.uuid("incarnation"),
            broker_epoch=self._log.next_offset,
            end_points=[
                BrokerEndpoint(
                    name=name,
                    host=endpoint.host,
                    port=endpoint.port,
                    security_protocol=endpoint.security_protocol,
                )
                for name, endpoint in endpoints.items()
            ],
            features=[
                BrokerFeature(
                    name=name, min_supported_version=lowest, max_supported_version=highest
                )
                for name, (lowest, highest) in SUPPORTED_FEATURES.items()
            ],
            rack=self.config.rack(node_id),
            fenced=True,
            log_dirs=sorted(self.directory_ids),
        )
        yield
        return [record]

    def losing_directories(self) -> WaitingSteps[None]:
        """If a data directory has failed, who lies in it leads no more.

        That is not written down if the metadata lie in it. Source:
        ReplicationControlManager.handleDirectoriesOffline.
        """
        gone = set(self.directory_ids).intersection(self._failed_directories())
        if not gone or self._log.is_offline:
            return
        working = sorted(set(self.directory_ids) - gone)
        changes = [
            BrokerRegistrationChangeRecord(
                broker_id=broker.node_id, broker_epoch=broker.broker_epoch, log_dirs=working
            )
            for broker in self.image.brokers.values()
            if not gone.isdisjoint(broker.directories)
        ]
        yield from self.writing(changes)
        yield from self.deciding(partial(lost, self.image, self.config))
        self.directory_ids = working

    def fence(self, node_id: int) -> None:
        """A node is gone: others lead what it led, if they can."""
        at_once(self.fencing(node_id))

    def fencing(self, node_id: int) -> WaitingSteps[None]:
        """The same, in steps."""
        return self.deciding(partial(fenced, self.image, self.config, node_id))

    def catching_up_with(self, alive: frozenset[int]) -> WaitingSteps[None]:
        """Let new partitions follow the nodes that came or fell since `alive` lived."""
        for node_id in sorted(alive - self.alive):
            if node_id in self.image.brokers:
                yield from self.fencing(node_id)
        for node_id in sorted(self.alive - alive):
            yield from self.unfencing(node_id)

    def unfencing(self, node_id: int) -> WaitingSteps[None]:
        """A registered node is back."""
        yield from self.deciding(partial(unfenced, self.image, self.config, node_id))
        yield from self.catching_up()

    def move_leader(self, topic_id: UUID, index: int, node_id: int) -> None:
        """Have a node that is in sync lead a partition, in a new leader epoch.

        The caller has called `settle` before it chose them.
        """
        record = PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=node_id)
        self.write([record])

    def balancing_leaders(self) -> WaitingSteps[None]:
        """Let preferred replicas lead what others lead, where they can (auto.leader.rebalance)."""
        return self.deciding(partial(balanced, self.image))

    def catching_up(self) -> WaitingSteps[None]:
        """Let reassignments go on as far as the living nodes carry them."""
        return self.deciding(partial(caught_up, self.image))

    # Snapshots

    @property
    def is_snapshot_due(self) -> bool:
        """True if it is time for a snapshot of the metadata (metadata.log.max.*)."""
        return self._log.is_snapshot_due

    def begin_snapshot(self) -> Steps[Callable[[], object]]:
        """Make a function that writes a snapshot of the image. It may run in a thread, and raises
        OSError.

        `complete_snapshot` is to follow. A change in between begins it anew.
        """
        for _ in range(_SNAPSHOT_TRIES):
            offset = self.image.offset
            records: list[object] = []
            for record in records_of(self.image):
                records.append(record)
                if len(records) % _RECORDS_AT_ONCE == 0:
                    yield
                    if self.image.offset != offset:
                        yield from release([records])
                        break
            else:
                return self._log.begin_snapshot(records, offset + 1)
        return self._log.begin_snapshot(list(records_of(self.image)), self.image.offset + 1)

    def complete_snapshot(self) -> WaitingSteps[None]:
        """The snapshot is written: older metadata may go. Raises KafkaError, OSError."""
        return self._log.complete_snapshot()

    # Common to all changes

    def unregistering(self, node_id: int) -> WaitingSteps[None]:
        """Forget a node that is gone (KIP-704's kafka-cluster unregister). It must be
        registered."""
        if not self.image.brokers[node_id].fenced:
            yield from self.fencing(node_id)
        epoch = self.image.brokers[node_id].broker_epoch
        yield from self.writing([UnregisterBrokerRecord(broker_id=node_id, broker_epoch=epoch)])

    def has_producer_id(self, node_id: int) -> bool:
        """True if a producer id can be given out without a block from the log."""
        return bool(self._producer_ids[node_id])

    def taking_producer_ids(self, node_id: int) -> WaitingSteps[None]:
        """Let a node have producer ids: it takes blocks, and logs them before use."""
        return self.deciding(partial(self._producer_id_block, node_id))

    def _producer_id_block(self, node_id: int) -> Steps[list[object]]:
        yield
        if self.has_producer_id(node_id):
            return []
        return [
            ProducerIdsRecord(
                broker_id=node_id,
                broker_epoch=self.image.brokers[node_id].broker_epoch,
                next_producer_id=self.image.next_producer_id + PRODUCER_ID_BLOCK_SIZE,
            )
        ]

    def allocate_producer_id(self, node_id: int) -> int:
        """A producer id that was never given out. Waits for the disk if no block is there."""
        if not self.has_producer_id(node_id):
            at_once(self.taking_producer_ids(node_id))
        return self._producer_ids[node_id].popleft()


def _resigns(record: object) -> bool:
    """True if it leaves a partition without a leader until that one is back."""
    return isinstance(record, PartitionChangeRecord) and record.leader == NO_LEADER
