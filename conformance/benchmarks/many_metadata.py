"""The loop of a broker whose cluster has very many partitions: how long is it held at once?

    python -m conformance.benchmarks.many_metadata --partitions 100000 --here 1000

A broker takes in a snapshot of all, opens the partitions that it has a replica of, takes in that
all of them have another leader, and then a second snapshot. No process is started: the broker's own
parts are asked, and processor time is counted, so that other work on the machine does not.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import trio

from kafkalite.cluster.observed_cluster import ObservedCluster
from kafkalite.config import BrokerConfig
from kafkalite.replica.partition_logs import PartitionLogs
from kafkalite.replica.replicated_topics import ReplicatedTopics
from kafkalite.replication.replicas import Replicas
from kafkalite.requests.slices import Steps, in_slices_of_task
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

ME = 1
BROKERS = 100
OF_A_TOPIC = 1000
MS = 1000


class LongestStep(trio.abc.Instrument):
    """The processor time of the longest step of a task, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._begun = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.seconds = max(self.seconds, time.thread_time() - self._begun)


class Metadata:
    """The records of a cluster; every so many partitions one has a replica on this broker."""

    def __init__(self, count: int, here: int) -> None:
        self.count = count
        self._every = max(1, count // max(1, here))

    def replicas(self, number: int) -> list[int]:
        others = [2 + (number + step) % (BROKERS - 1) for step in range(3)]
        return [ME, *others[:2]] if number % self._every == 0 else others

    def all(self) -> Iterator[object]:
        for broker_id in range(ME, BROKERS + 1):
            yield RegisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_id, fenced=False)
        for number in range(self.count):
            topic_id = UUID(int=1 + number // OF_A_TOPIC)
            if number % OF_A_TOPIC == 0:
                yield TopicRecord(name=f"topic-{number // OF_A_TOPIC}", topic_id=topic_id)
            replicas = self.replicas(number)
            yield PartitionRecord(
                partition_id=number % OF_A_TOPIC,
                topic_id=topic_id,
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[UUID(int=0)] * len(replicas),
            )

    def other_leaders(self) -> Iterator[object]:
        for number in range(self.count):
            yield PartitionChangeRecord(
                partition_id=number % OF_A_TOPIC,
                topic_id=UUID(int=1 + number // OF_A_TOPIC),
                leader=self.replicas(number)[1],
            )


class World:
    """The parts of a broker that metadata go to."""

    def __init__(self, directory: Path) -> None:
        config = BrokerConfig({"log.dirs": str(directory), "node.id": str(ME)})
        self.logs = PartitionLogs(config, lambda: time.time_ns() // 1_000_000)
        self.cluster = ObservedCluster(
            config,
            cluster_id="many",
            directory_ids=self.logs.directory_ids,
            place_log=self.logs.place,
            quorum_epoch=lambda: 1,
            new_producer_id=lambda: 1,
        )

    def new_topics(self) -> ReplicatedTopics:
        """The topics of a start, when the metadata are up to date."""

        async def ask(request: object) -> object:
            raise AssertionError("nothing is sent here")

        return ReplicatedTopics(
            self.cluster,
            self.logs,
            Replicas(
                ME,
                brokers=self.cluster,
                broker_epoch=lambda: ME,
                address_of=lambda node_id: None,
                ask_controller=ask,
            ),
            node_id=ME,
            ask_for=lambda new: None,
            tell_directory=lambda topic_id, index, directory_id: None,
        )

    def taking_in(
        self, records: list[object], taker: ObservedCluster | ReplicatedTopics, *, is_snapshot: bool
    ) -> Steps[None]:
        changes = yield from self.cluster.changes_of(records, is_snapshot=is_snapshot)
        yield from taker.taking_in(changes, self.cluster.image.offset + 1)


async def measured(name: str, steps: Callable[[], Steps[None]]) -> None:
    longest = LongestStep()
    trio.lowlevel.add_instrument(longest)
    begun = time.thread_time()
    await in_slices_of_task(steps())
    seconds = time.thread_time() - begun
    trio.lowlevel.remove_instrument(longest)
    print(f"{name:<42} {seconds:6.2f} s   longest hold {longest.seconds * MS:5.1f} ms", flush=True)


async def measure(count: int, here: int, directory: Path) -> None:
    metadata, world = Metadata(count, here), World(directory)
    everything = list(metadata.all())
    print(f"{count} partitions of {BROKERS} brokers, processor time:")
    await measured(
        "a snapshot of all",
        lambda: world.taking_in(everything, world.cluster, is_snapshot=True),
    )
    topics = world.new_topics()
    await measured(f"{here} partitions opened here", topics.opening)
    moved = list(metadata.other_leaders())
    await measured(
        "another leader for each",
        lambda: world.taking_in(moved, topics, is_snapshot=False),
    )
    await measured(
        "a second snapshot, where all differs",
        lambda: world.taking_in(everything, topics, is_snapshot=True),
    )
    world.logs.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.many_metadata")
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--here", type=int, default=1000)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="many-metadata-") as directory:
        trio.run(measure, flags.partitions, flags.here, Path(directory))


if __name__ == "__main__":
    main()
