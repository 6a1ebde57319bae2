"""A broker of the simulation: the product's quorum, replication, peers and log; nothing of a
server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol
from uuid import UUID

import trio

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.peers.link import Address
from kafkalite.quorum.channel import ControllerChannel
from kafkalite.quorum.lifecycle import Lifecycle
from kafkalite.quorum.observer import Committed, Observer
from kafkalite.quorum.registration import Registration
from kafkalite.quorum.tail import MetadataTail
from kafkalite.replication.replica import Replica, ReplicationConfig
from kafkalite.replication.replicas import Replicas
from kafkalite.requests.slices import Steps
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.replication.model_controller import (
    TOPIC,
    TOPIC_ID,
    Controller,
)
from tests.kafkalite.replication.model_metadata_log import PORT
from tests.kafkalite.replication.serving import Serving
from tests.kafkalite.replication.virtual_network import Network

CONFIG = ReplicationConfig(max_lag_seconds=2.0, fetch_backoff_seconds=0.3, socket_timeout_seconds=2)
HIGH_WATERMARK_SECONDS = 1.0


class LossyFiles(Files):
    """Remembers how much of each segment is on the disk. What is not, a power cut may take."""

    def __init__(self) -> None:
        self.paths: dict[int, Path] = {}
        self.synced: dict[Path, int] = {}

    def open(self, path: Path, flags: int) -> int:
        descriptor = super().open(path, flags)
        self.paths[descriptor] = path
        return descriptor

    def close(self, descriptor: int) -> None:
        self.paths.pop(descriptor, None)
        super().close(descriptor)

    def sync(self, descriptor: int) -> None:
        path = self.paths[descriptor]
        self.synced[path] = os.fstat(descriptor).st_size

    def sync_directory(self, path: Path) -> None:
        pass

    def sync_everything(self) -> None:
        pass

    def die(self) -> None:
        for descriptor in list(self.paths):
            self.close(descriptor)

    def cut_power(self, root: Path, random: Random) -> None:
        for path in sorted(root.rglob("*.log")):
            size = path.stat().st_size
            synced = min(self.synced.get(path, 0), size)
            os.truncate(path, random.randint(synced, size))


class Watch(Protocol):
    """The simulation, which looks at everything that happens."""

    def leads(self, broker: VirtualBroker, replica: Replica) -> None: ...
    def published(self, broker: VirtualBroker, committed: Committed) -> None: ...


@dataclass(frozen=True)
class View:
    leader_id: int
    leader_epoch: int
    partition_epoch: int
    replicas: list[int]
    in_sync_replicas: list[int]


class KnownBrokers:
    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    def registered_epoch(self, broker_id: int) -> int | None:
        known = self.controller.brokers.get(broker_id)
        return known.epoch if known and self.controller.is_active(broker_id) else None

    def known_epoch(self, broker_id: int) -> int | None:
        known = self.controller.brokers.get(broker_id)
        return None if known is None else known.epoch


class VirtualBroker:
    """A broker's directory, which stays, and what lives between `run` and its end."""

    def __init__(
        self, node_id: int, root: Path, network: Network, controller: Controller, watch: Watch
    ) -> None:
        self.node_id, self.root, self.network, self.controller = node_id, root, network, controller
        self.watch = watch
        self.previous_epoch = -1
        self.high_watermarks: dict[int, int] = {}
        self.files = LossyFiles()
        self.is_alive = False
        self.is_coming_back = False
        self.scope = trio.CancelScope()
        self.logs: dict[int, Log] = {}

    async def run(self) -> None:
        """Until `scope` is cancelled, or it was let go."""
        self.scope = trio.CancelScope()
        self.files = LossyFiles()
        self.logs = {}
        self.records: dict[int, PartitionRecord] = {}
        self.has_begun = False
        self.serving = Serving(lambda index: self.replicas.get(TOPIC_ID, index))
        self.is_alive = True
        self.gone = trio.Event()
        connect = self.network.connect_from(self.node_id)
        observer = Observer(self.node_id, "cluster", UUID(int=1000 + self.node_id))
        self.applied = -1
        tail = MetadataTail(observer, [Address("", PORT)], self.publish, connect)
        self.replicas = Replicas(
            self.node_id,
            brokers=KnownBrokers(self.controller),
            broker_epoch=lambda: self.lifecycle.broker_epoch,
            address_of=lambda node_id: Address("", node_id),
            ask_controller=AskController(ControllerChannel("alter", observer, connect)),
            config=CONFIG,
            connect=connect,
        )
        self.lifecycle = Lifecycle(
            Registration(
                self.node_id,
                "cluster",
                listeners=[],
                features={},
                directory_ids=[UUID(int=1000 + self.node_id)],
                previous_broker_epoch=self.previous_epoch,
            ),
            ControllerChannel("life", observer, connect),
            metadata_offset=lambda: self.applied,
            heartbeat_seconds=0.5,
            registration_seconds=1e9,
        )
        self.previous_epoch = -1
        self.network.serve(self.node_id, self.serving.serve)
        try:
            with self.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(tail.run)
                    nursery.start_soon(self.lifecycle.run)
                    nursery.start_soon(self.replicas.run)
                    nursery.start_soon(self.checkpoint)
                    await self.lifecycle.caught_up.wait()
                    self.begin()
                    nursery.start_soon(self.work)
                    self.lifecycle.ready()
                    await self.lifecycle.may_go.wait()
                    self.previous_epoch = self.lifecycle.broker_epoch
                    self.keep_high_watermarks()
                    nursery.cancel_scope.cancel()
        finally:
            self.is_alive = False
            self.gone.set()
            self.network.stop(self.node_id)
            self.files.die()

    async def work(self) -> None:
        """More to do, as long as it lives."""

    def replica_changed(self, index: int) -> None:
        self.serving.notify()

    def kill(self, *, power: Random | None = None) -> None:
        self.scope.cancel()
        if power is not None:
            self.files.cut_power(self.root, power)

    async def checkpoint(self) -> None:
        while True:
            await trio.sleep(HIGH_WATERMARK_SECONDS)
            self.keep_high_watermarks()

    def keep_high_watermarks(self) -> None:
        self.high_watermarks = {index: log.high_watermark for index, log in self.logs.items()}

    def publish(self, committed: Committed) -> Steps[None]:
        self.watch.published(self, committed)
        self.applied = committed.offset
        for record in committed.records:
            if isinstance(record, PartitionRecord):
                self.records[record.partition_id] = record
                if self.has_begun:
                    self.change(record)
        yield

    def begin(self) -> None:
        """Take roles by the metadata as they are now: what they were long ago must not be played
        again."""
        self.has_begun = True
        for record in self.records.values():
            self.change(record)

    def change(self, record: PartitionRecord) -> None:
        index = record.partition_id
        replica = self.replicas.get(TOPIC_ID, index)
        if replica is None:
            log = self.logs[index] = open_log(
                self.root / f"{TOPIC}-{index}",
                LogConfig(min_insync_replicas=self.controller.min_isr, segment_bytes=4000),
                now_ms=lambda: 1_700_000_000_000,
                open_files=OpenFiles(files=self.files),
            )
            log.advance_high_watermark(min(self.high_watermarks.get(index, 0), log.log_end_offset))
            changed = partial(self.replica_changed, index)
            replica = Replica(self.replicas, TOPIC, TOPIC_ID, index, log, changed)
            self.replicas.add(replica)
        replica.change(
            View(
                record.leader,
                record.leader_epoch,
                record.partition_epoch,
                record.replicas,
                record.isr,
            )
        )
        if replica.leading is not None:
            self.watch.leads(self, replica)

    async def produce(self, index: int, value: bytes) -> int:
        """The offset, once all in-sync replicas have it. Raises KafkaError."""
        replica = self.replicas.get(TOPIC_ID, index) if self.is_alive else None
        leading = None if replica is None else replica.leading
        if replica is None or leading is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(leading.in_sync.committed) < leading.needed_in_sync:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        epoch = leading.leader_epoch
        batch = build_batch([Record(timestamp=0, value=value)])
        offset = replica.log.append(batch, leader_epoch=epoch).base_offset
        replica.appended()
        self.serving.notify()
        with trio.fail_after(5):
            while replica.log.high_watermark <= offset:
                if replica.leading is not leading or leading.leader_epoch != epoch:
                    raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                if not self.is_alive:
                    raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)
                with trio.move_on_after(0.5):
                    await self.serving.changed.wait()
        if replica.leading is not leading or leading.leader_epoch != epoch or not self.is_alive:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(leading.in_sync.maximal) < leading.needed_in_sync:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return offset


class AskController:
    def __init__(self, channel: ControllerChannel) -> None:
        self.channel = channel

    async def __call__(self, body: object) -> Any:
        return await self.channel.ask(body, timeout_seconds=1e9)
