"""Topics: ten thousand partitions, and topics that come and go under clients."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalite.faults import errno
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.kafkalite.first_partition import codes, produce, values
from tests.kafkalite.processes import started

PARTITIONS = 10_000


@pytest.mark.slow
async def test_ten_thousand_partitions_with_few_descriptors(tmp_path: Path, connect: Any) -> None:
    ready = tmp_path / "ready.json"
    arguments = ("--port", "0", "--data-dir", str(tmp_path / "data"), "--ready-file", str(ready))
    used = range(0, PARTITIONS, 20)
    for turn in range(2):
        began = time.monotonic()
        with started(*arguments, descriptors=200) as process:
            assert time.monotonic() - began < 30  # seconds, on a machine that does much else
            address = json.loads(ready.read_text())["bootstrap"]
            client = await connect(SimpleNamespace(bootstrap=address))
            if turn == 0:
                topic = CreatableTopic(name="t", num_partitions=PARTITIONS, replication_factor=1)
                answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000))
                assert answer.topics[0].error_code == 0
            for _ in range(2):
                assert await codes(client, produce(b"v", *used)) == [0] * len(used)
            assert len(await values(client)) == 2 * (turn + 1)
            assert len(os.listdir(f"/proc/{process.pid}/fd")) < 200
            process.kill()


@pytest.mark.parametrize("grows", [False, True])
async def test_logs_that_a_failing_directory_cannot_take_lie_in_another(
    tmp_path: Path, connect: Any, grows: bool
) -> None:
    directories = [str(tmp_path / name) for name in "ab"]
    async with test_broker({"log.dirs": ",".join(directories)}) as b:
        client = await connect(b)
        if grows:
            await b.asynchronous.create_topic("t", partitions=2)
        place = f"{directories[1]}/*"
        await b.asynchronous.fault(disk="rename", file=place, times=None, do=errno("EIO"))
        if grows:
            grown = CreatePartitionsTopic(name="t", count=6, assignments=None)
            answer = await client.ask(CreatePartitionsRequest(topics=[grown], timeout_ms=10_000))
            assert answer.results[0].error_code == 0
        else:
            topic = CreatableTopic(name="t", num_partitions=6, replication_factor=1)
            answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
            assert answer.topics[0].error_code == 0
        new = range(2, 6) if grows else range(6)
        assert await codes(client, produce(b"v", *new)) == [0] * len(new)
        assert {f"t-{index}" for index in new} <= {*os.listdir(directories[0])}


SECONDS = 20
CLIENTS = 20
ROUNDS = 5


async def test_a_fetch_that_waits_is_told_that_its_topic_is_gone(
    broker: test_broker, client: Any
) -> None:
    for version in (12, 13):
        broker.create_topic("t")
        topic = FetchTopic(
            topic="t",
            topic_id=broker.topic_id("t"),
            partitions=[FetchPartition(partition=0, partition_max_bytes=1000)],
        )
        request = FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[topic])
        with trio.fail_after(SECONDS):
            await client.send(request, version)
            parked = broker._running.services.topics.by_name["t"].partitions[0].watchers
            while not len(parked):  # noqa: ASYNC110 - no event tells that a fetch parks
                await trio.sleep(0.001)
            broker.delete_topic("t")
            answer = await client.answer()
        (partition,) = answer.responses[0].partitions
        # Apache Kafka 4.3.1 looks the id up when the request comes.
        assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert partition.aborted_transactions is None


def test_committed_offsets_go_with_their_topic() -> None:
    with test_broker() as b:
        admin = AdminClient({"bootstrap.servers": b.bootstrap})
        consumer = Consumer({"bootstrap.servers": b.bootstrap, "group.id": "g"})
        for expected in (-1001, -1001):
            b.create_topic("t")
            (found,) = consumer.committed([TopicPartition("t", 0)], SECONDS)
            assert found.offset == expected
            consumer.commit(offsets=[TopicPartition("t", 0, 7)], asynchronous=False)
            (found,) = consumer.committed([TopicPartition("t", 0)], SECONDS)
            assert found.offset == 7
            admin.delete_topics(["t"])["t"].result(SECONDS)
        consumer.close()


@pytest.mark.slow
async def test_twenty_clients_create_use_and_delete_topics() -> None:
    def work(bootstrap: str, number: int) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        name = f"topic-{number}"
        for turn in range(ROUNDS):
            admin.create_topics([NewTopic(name, 2, 1)])[name].result(SECONDS)
            producer = Producer({"bootstrap.servers": bootstrap})
            producer.produce(name, f"{turn}".encode(), partition=1)
            assert producer.flush(SECONDS) == 0
            consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": name})
            assert consumer.get_watermark_offsets(TopicPartition(name, 1), SECONDS) == (0, 1)
            consumer.close()
            admin.delete_topics([name])[name].result(SECONDS)

    async with test_broker() as b:
        async with trio.open_nursery() as nursery:
            for number in range(CLIENTS):
                nursery.start_soon(trio.to_thread.run_sync, work, b.bootstrap, number)
        assert [
            topic.name for topic in b._running.services.topics.all() if not topic.is_internal
        ] == []
