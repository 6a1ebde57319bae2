"""Brokers of a cluster in one process, over TCP, under a model of the controllers, without JVM."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

# Imported by the first request otherwise, which on a busy machine holds the loop for long.
from conformance.harness.ports import free_ports
from kafkalite.config import BrokerConfig
from kafkalite.config.storage_format import format_directory
from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.peers.link import Address, Link, connect_tcp
from kafkalite.quorum_broker import QuorumBroker
from kafkalite.requests.topic_names import TRANSACTIONS_TOPIC
from kafkalite.server.listener import StartError
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import CreateTopicsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records
from tests.kafkalite.replication import model_controller
from tests.kafkalite.replication.model_controller import TOPIC, TOPIC_ID, Controller
from tests.kafkalite.until import until

CLUSTER_ID = "kModelClusterAAAAAAAAA"
SECONDS = 20


async def answer_all(stream: trio.SocketStream, controller: Controller) -> None:
    buffer = b""
    while data := await stream.receive_some(1 << 16):
        buffer += data
        while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "big"):
            size = int.from_bytes(buffer[:4], "big")
            frame, buffer = buffer[4 : 4 + size], buffer[4 + size :]
            await stream.send_all(await controller.serve(frame))


@asynccontextmanager
async def controllers(brokers: int, partitions: int = 2) -> AsyncIterator[Controller]:
    """The model, listening."""
    (port,) = free_ports(1)
    controller = Controller(Random(1), range(1, brokers + 1), partitions, min_isr=2, port=port)

    async def serve(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):
            await answer_all(stream, controller)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await nursery.start(trio.serve_tcp, serve, port)
        yield controller
        nursery.cancel_scope.cancel()


def config(
    root: Path, node_id: int, controller: Controller, spare: Sequence[str] = (), **more: str
) -> BrokerConfig:
    directories = [root / f"{node_id}{end}" for end in ("", *spare)]
    for directory in directories:
        format_directory(directory, CLUSTER_ID, node_id, ignore_formatted=True)
    return BrokerConfig(
        {
            "process.roles": "broker",
            "node.id": str(node_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller.port}",
            "log.dirs": ",".join(map(str, directories)),
            "broker.heartbeat.interval.ms": "100",
            "initial.broker.registration.timeout.ms": "10000",
            "min.insync.replicas": "2",
            **more,
        }
    )


@asynccontextmanager
async def cluster(
    root: Path, count: int, spare: Sequence[str] = ()
) -> AsyncIterator[tuple[Controller, dict[int, QuorumBroker]]]:
    """So many brokers, unfenced. `spare`: the ends of the names of their other directories."""
    async with controllers(count) as controller:
        with ExitStack() as stack:
            running = {
                node_id: stack.enter_context(QuorumBroker(config(root, node_id, controller, spare)))
                for node_id in range(1, count + 1)
            }
            async with trio.open_nursery() as nursery:
                with trio.fail_after(SECONDS):
                    for broker in running.values():
                        await nursery.start(broker.serve)
                yield controller, running
                nursery.cancel_scope.cancel()


async def ask(broker: QuorumBroker, body: object) -> Any:
    listener = broker.listeners[0]
    link = Link("test", connect_tcp)
    address = Address("127.0.0.1", listener.advertised_port)
    try:
        return await link.ask(address, body, timeout_seconds=SECONDS)
    finally:
        await link.close()


def produce(index: int, value: bytes) -> ProduceRequest:
    records = build_batch([Record(timestamp=1, value=value)])
    data = PartitionProduceData(index=index, records=records)
    return ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topic_data=[TopicProduceData(topic_id=TOPIC_ID, partition_data=[data])],
    )


async def values(broker: QuorumBroker, index: int) -> list[bytes | None]:
    wanted = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[wanted])],
    )
    answer = await ask(broker, request)
    data = answer.responses[0].partitions[0]
    assert data.error_code == ErrorCode.NONE
    return [
        record.value
        for batch in iterate_batches(bytes(data.records))
        for record in iterate_records(batch)
    ]


async def in_sync(controller: Controller, running: dict[int, QuorumBroker], count: int) -> None:
    """So many replicas are in sync, and each broker knows it: it hears it after the controller."""

    def partition_epoch(broker: QuorumBroker, index: int) -> int:
        replica = broker.replicas.get(TOPIC_ID, index)
        if replica is None:
            return -1
        leading = replica.leading
        return replica.partition_epoch if leading is None else leading.in_sync.partition_epoch

    await until(
        lambda: all(
            len(state.isr) == count
            and state.leader >= 0
            and all(
                partition_epoch(each, index) == state.partition_epoch for each in running.values()
            )
            for index, state in enumerate(controller.states)
        )
    )


def contents_of(root: Path, index: int) -> set[bytes]:
    return {path.read_bytes() for path in root.glob(f"*/{TOPIC}-{index}/*.log")}


@pytest.mark.slow
async def test_what_one_leads_the_others_have(tmp_path: Path) -> None:
    async with cluster(tmp_path, 3) as (controller, running):
        await in_sync(controller, running, 3)
        for number in range(5):
            for index, state in enumerate(controller.states):
                answer = await ask(running[state.leader], produce(index, b"%d" % number))
                result = answer.responses[0].partition_responses[0]
                assert (result.error_code, result.base_offset) == (ErrorCode.NONE, number)
        for index, state in enumerate(controller.states):
            assert await values(running[state.leader], index) == [b"0", b"1", b"2", b"3", b"4"]
            assert len(contents_of(tmp_path, index)) == 1


@pytest.mark.slow
async def test_another_leads_after_a_controlled_shutdown(tmp_path: Path) -> None:
    async with cluster(tmp_path, 3) as (controller, running):
        await in_sync(controller, running, 3)
        first = controller.states[0].leader
        await ask(running[first], produce(0, b"before"))
        running[first].stop()
        with trio.fail_after(SECONDS):
            await running.pop(first).stopped.wait()
        await in_sync(controller, running, 2)
        second = controller.states[0].leader
        assert second not in (first, -1)
        answer = await ask(running[second], produce(0, b"after"))
        assert answer.responses[0].partition_responses[0].base_offset == 1
        assert await values(running[second], 0) == [b"before", b"after"]


async def test_a_broker_is_ready_while_the_controllers_let_it_serve(tmp_path: Path) -> None:
    async with controllers(1) as controller:
        with QuorumBroker(config(tmp_path, 1, controller)) as broker:
            assert not broker.is_ready
            async with trio.open_nursery() as nursery:
                with trio.fail_after(SECONDS):
                    await nursery.start(broker.serve)
                    assert broker.is_ready
                    broker.stop()
                    assert not broker.is_ready
                    await broker.stopped.wait()


async def test_nobody_connects_before_the_broker_is_unfenced(tmp_path: Path) -> None:
    more = {"listeners": f"PLAINTEXT://127.0.0.1:{free_ports(1)[0]}"}
    async with controllers(1) as controller, trio.open_nursery() as nursery:
        with QuorumBroker(config(tmp_path, 1, controller, **more)) as broker:
            broker.membership.lifecycle.ready = lambda: None
            nursery.start_soon(broker.serve)
            await until(lambda: broker._are_topics_open)
            await trio.sleep(0.3)
            assert broker.listeners[0].waits
            broker.membership.lifecycle._is_ready = True
            await until(lambda: not broker.listeners[0].waits)
            assert len((await ask(broker, MetadataRequest())).brokers) == 1
            nursery.cancel_scope.cancel()


async def test_who_does_not_lead_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        follower = 3 - controller.states[0].leader
        answer = await ask(running[follower], produce(0, b"v"))
        result = answer.responses[0].partition_responses[0]
        assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert result.current_leader.leader_id == controller.states[0].leader


async def test_a_follower_hears_the_end_of_the_log(tmp_path: Path) -> None:
    """A consumer hears the high watermark, which waits until min.insync.replicas is met."""
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        leader = running[controller.states[0].leader]
        answer = await ask(leader, produce(0, b"v"))
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE

        async def latest(replica_id: int) -> int:
            wanted = ListOffsetsPartition(partition_index=0, timestamp=-1)
            topic = ListOffsetsTopic(name=TOPIC, partitions=[wanted])
            request = ListOffsetsRequest(replica_id=replica_id, topics=[topic])
            offset: int = (await ask(leader, request)).topics[0].partitions[0].offset
            return offset

        replica = leader.replicas.get(TOPIC_ID, 0)
        assert replica is not None
        replica.log.high_watermark = 0
        assert (await latest(-1), await latest(3 - leader.config.node_id)) == (0, 1)


@pytest.mark.slow
async def test_clients_see_the_whole_cluster(tmp_path: Path) -> None:
    async with cluster(tmp_path, 3) as (controller, running):
        await in_sync(controller, running, 3)
        answer = await ask(running[2], MetadataRequest(topics=None))
        assert {each.node_id for each in answer.brokers} == {1, 2, 3}
        (topic,) = answer.topics
        leaders = {each.partition_index: each.leader_id for each in topic.partitions}
        assert leaders == {i: state.leader for i, state in enumerate(controller.states)}


async def test_what_controllers_decide_is_sent_to_them(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (controller, running):
        with pytest.raises(Exception, match="closed"):
            await ask(running[1], CreateTopicsRequest(topics=[]))
        (envelope,) = controller.envelopes
        assert int.from_bytes(envelope.request_data[:2], "big") == 19
        assert envelope.client_host_address == bytes([127, 0, 0, 1])


async def test_producer_ids_come_in_blocks_of_the_controllers(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (_, running):
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        seen: set[int] = set()
        for broker in running.values():
            with trio.fail_after(SECONDS):
                while True:
                    answer = await ask(broker, request)
                    if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                        break
            seen.add(answer.producer_id)
        assert {each // 1000 for each in seen} == {0, 1}


async def test_the_leader_of_their_partition_coordinates_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_controller, "TOPIC", TRANSACTIONS_TOPIC)
    async with cluster(tmp_path, 2) as (controller, running):
        request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
        with trio.fail_after(SECONDS):
            while True:
                leader = controller.states[partition_of_key("t", 2)].leader
                answers = {node_id: await ask(each, request) for node_id, each in running.items()}
                if answers.pop(leader).error_code == ErrorCode.NONE:
                    break
        (other,) = answers.values()
        assert other.error_code == ErrorCode.NOT_COORDINATOR


async def test_directories_are_told(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (controller, running):
        await until(lambda: len(controller.assigned) == 4)
        for (node_id, _), directory_id in controller.assigned.items():
            assert directory_id in running[node_id].cluster.directory_ids


async def test_a_directory_that_fails_is_told_at_once(tmp_path: Path) -> None:
    """Not with the next heartbeat, which here is an hour away."""
    second = tmp_path / "second"
    format_directory(second, CLUSTER_ID, 1, ignore_formatted=True)
    more = {"log.dirs": f"{tmp_path / '1'},{second}", "broker.heartbeat.interval.ms": "3600000"}
    async with controllers(1) as controller, trio.open_nursery() as nursery:
        with QuorumBroker(config(tmp_path, 1, controller, **more)) as broker:
            await nursery.start(broker.serve)
            assert controller.brokers[1].offline_directories == []
            broker._logs.manager.directories[1].failed(OSError(errno.EIO, "Input/output error"))
            failed = broker.cluster.directory_ids[1]
            await until(lambda: controller.brokers[1].offline_directories == [failed])
            nursery.cancel_scope.cancel()


async def test_a_broker_without_a_directory_leaves(tmp_path: Path) -> None:
    async with controllers(1) as controller, trio.open_nursery() as nursery:
        with QuorumBroker(config(tmp_path, 1, controller)) as broker:
            await nursery.start(broker.serve)
            broker._logs.manager.directories[0].failed(OSError(errno.EIO, "Input/output error"))
            await until(broker.stopped.is_set)
            assert controller.brokers[1].offline_directories == broker.cluster.directory_ids
            assert str(broker.failure).startswith("no data directory is left: ")
    assert ".kafka_cleanshutdown" not in os.listdir(tmp_path / "1")


async def test_a_start_without_a_directory_that_does_not_work(tmp_path: Path) -> None:
    """The controllers hear of the others only, so that other brokers lead what lies there."""
    broken = tmp_path / "broken"
    broken.write_text("no directory")
    more = {"log.dirs": f"{tmp_path / '1'},{broken}"}
    async with controllers(1) as controller, trio.open_nursery() as nursery:
        with QuorumBroker(config(tmp_path, 1, controller, **more)) as broker:
            await nursery.start(broker.serve)
            assert len(broker.cluster.directory_ids) == 1
            await until(lambda: len(controller.assigned) == 2)
            nursery.cancel_scope.cancel()
        settings = config(tmp_path, 1, controller, **{"log.dirs": f"{broken},{tmp_path / '1'}"})
        with pytest.raises(StartError, match="broken"), QuorumBroker(settings):
            pass


async def test_strays_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "1" / "old-0").mkdir(parents=True)
    (tmp_path / "1" / "old-0" / "00000000000000000000.log").write_bytes(b"kept")
    async with cluster(tmp_path, 2):
        (stray,) = (tmp_path / "1").glob("old-0.*-stray")
    assert (stray / "00000000000000000000.log").read_bytes() == b"kept"


async def test_a_directory_that_is_not_formatted_is_refused(tmp_path: Path) -> None:
    async with controllers(1) as controller:
        settings = config(tmp_path, 1, controller)
        (tmp_path / "1" / "meta.properties").unlink()
        with pytest.raises(StartError, match="not formatted"), QuorumBroker(settings):
            pass


async def test_controllers_that_do_not_answer(tmp_path: Path) -> None:
    async with controllers(1) as controller:
        more = {"initial.broker.registration.timeout.ms": "300"}
        settings = config(tmp_path, 1, controller, **more)
    with QuorumBroker(settings) as broker, pytest.raises(StartError, match="no controller"):
        await broker.serve()


@pytest.mark.slow
async def test_a_node_id_in_use_waits_for_the_session_to_end(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (controller, _):
        with QuorumBroker(config(tmp_path / "again", 1, controller)) as second:
            with trio.move_on_after(1):
                await second.serve()
            assert second.membership.broker_epoch() == -1
