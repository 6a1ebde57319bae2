"""Produce requests that are answered together: written once, or refused all."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from types import CoroutineType
from typing import Any

import pytest
import trio

from kafkalite.apis import Api, Handler
from kafkalite.log.files import Files
from kafkalite.requests.context import RequestContext
from kafkalite.server import loop
from kafkalite.server.gates import Gates
from kafkalite.services import Services
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.kafkalite.conftest import Client, batch
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.one_share_group import topic_created
from tests.kafkalite.server.one_dispatcher import one_dispatcher

LATEST = -1

# A turn of any length does not end early.
pytestmark = pytest.mark.pure


class Disk:
    """Counts the writes to segments, and fails those of one topic while it has an error."""

    def __init__(self) -> None:
        self.writes: list[str] = []
        self.error = 0

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.suffix == ".log" and path.parent.name in ("a-0", "b-0"):
            self.writes.append(path.parent.name)
            if self.error and path.parent.name == "a-0":
                raise OSError(self.error, os.strerror(self.error))
        return os.pwrite(descriptor, data, position)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    found = Disk()
    monkeypatch.setattr(loop, "_TURN_SECONDS", 60.0)
    monkeypatch.setattr(Files, "pwrite", staticmethod(found.pwrite))
    return found


class Two:
    """A broker with topics on two disks, and clients whose requests come in one turn."""

    def __init__(self, running: test_broker, count: int) -> None:
        self.broker = running
        self.ids = {name: running.create_topic(name, 1).topic_id for name in ("a", "b")}
        host, port = running.bootstrap.split(":")
        self.sockets = [socket.create_connection((host, int(port))) for _ in range(count)]
        streams = (trio.socket.from_stdlib_socket(each) for each in self.sockets)
        self.clients = [Client(trio.SocketStream(each)) for each in streams]

    def produce(self, version: int, *topics: str, acks: int = 1) -> ProduceRequest:
        return ProduceRequest(
            acks=acks,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name=topic if version < 13 else "",
                    topic_id=self.ids[topic],
                    partition_data=[PartitionProduceData(index=0, records=batch(b"v"))],
                )
                for topic in topics
            ],
        )

    def send(self, *requests: tuple[int, object, int]) -> None:
        """Send requests, each by one of the clients, before the broker sees the first."""
        frames: dict[int, bytes] = {}
        for number, request, version in requests:
            frame = self.clients[number].framed(request, version)
            frames[number] = frames.get(number, b"") + frame
        for number, frame in frames.items():
            assert self.sockets[number].send(frame) == len(frame)

    async def outcome(self, number: int) -> list[tuple[int, int, int]]:
        """Code, base offset and log start offset of each partition in a client's next response."""
        response = await self.clients[number].answer()
        return [
            (each.error_code, each.base_offset, each.log_start_offset)
            for topic in response.responses
            for each in topic.partition_responses
        ]


@pytest.fixture
async def two(tmp_path: Path, disk: Disk) -> Any:
    config = {"log.dirs": f"{tmp_path}/x,{tmp_path}/y", **FEW_PARTITIONS}
    async with test_broker(config) as running:
        found = Two(running, 3)
        # Connected, and seen by the broker.
        for number in range(3):
            found.send((number, found.produce(9, "a", "b"), 9))
            await found.outcome(number)
        disk.writes.clear()
        yield found
        for each in found.clients:
            await trio.aclose_forcefully(each.stream)


async def test_requests_of_a_turn_are_written_once(two: Two, disk: Disk) -> None:
    two.send(*((number, two.produce(9, "a", "b"), 9) for number in (0, 1, 2, 0)))
    outcomes = [await two.outcome(number) for number in (0, 0, 1, 2)]
    assert sorted(outcomes) == [[(0, 3 + place, 0)] * 2 for place in range(4)]
    assert sorted(disk.writes) == ["a-0", "b-0"]


async def test_another_request_in_between_sees_what_came_before(two: Two, disk: Disk) -> None:
    latest = ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(
                name="a", partitions=[ListOffsetsPartition(partition_index=0, timestamp=LATEST)]
            )
        ]
    )
    two.send(
        (0, two.produce(9, "a"), 9), (0, two.produce(9, "a"), 9), (0, latest, 7),
        (0, two.produce(9, "a"), 9), (1, two.produce(9, "b"), 9),
    )  # fmt: skip
    assert await two.outcome(0) == [(0, 3, 0)]
    assert await two.outcome(0) == [(0, 4, 0)]
    answer = await two.clients[0].answer()
    assert answer.topics[0].partitions[0].offset == 5
    assert await two.outcome(0) == [(0, 5, 0)]
    assert await two.outcome(1) == [(0, 3, 0)]
    assert sorted(disk.writes) == ["a-0", "a-0", "b-0"]


async def test_a_request_that_is_alone_is_written_at_once(two: Two, disk: Disk) -> None:
    two.send((0, two.produce(9, "a"), 9), (0, two.produce(9, "a"), 9))
    assert await two.outcome(0) == [(0, 3, 0)]
    assert await two.outcome(0) == [(0, 4, 0)]
    assert disk.writes == ["a-0", "a-0"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
@pytest.mark.parametrize("version", [3, 13])
@pytest.mark.parametrize("acks", [1, -1])
async def test_what_cannot_be_written_is_refused(
    two: Two, disk: Disk, acks: int, version: int, number: int
) -> None:
    disk.error = number
    sent = two.produce(version, "a", "b", acks=acks)
    two.send(*((number, sent, version) for number in (0, 1, 2, 0)))
    outcomes = [await two.outcome(number) for number in (0, 0, 1, 2)]
    start = 0 if version >= 5 else -1
    assert sorted(outcomes) == [
        [(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1), (0, 3 + place, start)] for place in range(4)
    ]
    disk.error = 0
    two.send((1, two.produce(9, "a", "b"), 9))
    refused = (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)
    assert await two.outcome(1) == [refused if number == errno.EIO else (0, 3, 0), (0, 7, 0)]


def test_a_response_that_a_gate_holds_back_is_made_after_the_write(disk: Disk) -> None:
    """The gate's coroutine may come to its end at once, while others are still answered."""

    def late(api: Api, handle: Handler) -> Handler:
        async def handled(services: Services, context: RequestContext, request: Any) -> Any:
            return handle(services, context, request)

        return handled

    with one_dispatcher(gates=Gates(fault=late)) as asked:
        topic_created(asked.services.topics, "a", 1)
        asked.services.joined_writes.is_open = True
        disk.error = errno.ENOSPC
        data = PartitionProduceData(index=0, records=batch(b"v"))
        topics = [TopicProduceData(name="a", partition_data=[data])]
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)
        frame = join(encode_request(ApiKey.PRODUCE, 9, 7, "me", request))[4:]
        response = asked.dispatcher.respond(asked.connection(), frame)
        assert isinstance(response, CoroutineType)
        with pytest.raises(StopIteration) as made:
            response.send(None)
        _, answer = decode_response(ApiKey.PRODUCE, 9, join(made.value.value)[4:])
        (row,) = answer.responses[0].partition_responses
        assert (row.error_code, row.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        asked.services.joined_writes.is_open = False


async def test_without_acks_the_connection_ends_after_what_came_before(
    two: Two, disk: Disk
) -> None:
    disk.error = errno.ENOSPC
    first = two.clients[0].framed(two.produce(9, "b"), 9)
    second = two.clients[2].framed(two.produce(9, "a", acks=0), 9)
    assert two.sockets[0].send(first + second) == len(first + second)
    two.send((1, two.produce(9, "b"), 9))
    offsets = [each for number in (0, 1) for each in await two.outcome(number)]
    assert sorted(offsets) == [(0, 3, 0), (0, 4, 0)]
    with trio.fail_after(30):
        assert await two.clients[0].is_closed()
