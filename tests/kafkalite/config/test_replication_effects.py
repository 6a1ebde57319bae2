"""Configs of replication have their effect in a broker under controllers: each is set to another
value than its default, and the leader, or a client, sees the difference.

The other broker is played: it leads all partitions and answers its follower as a test says, or it
follows and never asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.config import BrokerConfig
from kafkalite.quorum_broker import QuorumBroker, throttles_of
from kafkalite.requests.topic_names import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.broker_registration import BrokerRegistrationRequest, Listener
from kafkalite.wire.messages.fetch import FetchRequest, FetchResponse
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.kafkalite.replication import model_controller
from tests.kafkalite.replication.model_controller import TOPIC_ID, Controller, versions_of
from tests.kafkalite.test_quorum_broker import SECONDS, ask, config, controllers
from tests.kafkalite.until import until

ME, OTHER = 1, 2
Answer = Callable[[FetchRequest], Awaitable[FetchResponse]]


class Leader:
    """The other broker: `asked` are the Fetches of its follower, and when they came."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[float, FetchRequest]] = []
        self._answer = answer

    async def serve(self, stream: trio.SocketStream) -> None:
        buffer = b""
        with suppress(trio.BrokenResourceError):
            while data := await stream.receive_some(1 << 16):
                buffer += data
                while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4]):
                    size = int.from_bytes(buffer[:4])
                    frame, buffer = buffer[4 : 4 + size], buffer[4 + size :]
                    await stream.send_all(await self._answer_to(frame))

    async def _answer_to(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        answer: Any = versions_of((ApiVersionsRequest, FetchRequest))
        if isinstance(request.body, FetchRequest):
            self.asked.append((monotonic(), request.body))
            answer = await self._answer(request.body)
        head = (request.api_key, request.api_version, request.correlation_id)
        return join(encode_response(*head, answer))


async def register(controller: Controller, port: int) -> None:
    """The other broker is there, and never silent."""
    listener = Listener(name="PLAINTEXT", host="127.0.0.1", port=port)
    request = BrokerRegistrationRequest(
        broker_id=OTHER, incarnation_id=UUID(int=9), listeners=[listener]
    )
    assert (await controller.register(request)).error_code == ErrorCode.NONE
    controller.brokers[OTHER].heard_at = inf
    controller.brokers[OTHER].fenced = False
    unfenced = model_controller.fencing(OTHER, controller.brokers[OTHER], fenced=-1)
    await controller.change_all([unfenced])


async def never(request: FetchRequest) -> FetchResponse:
    await trio.sleep_forever()
    raise AssertionError


async def nothing(request: FetchRequest) -> FetchResponse:
    await trio.sleep(0.01)
    return FetchResponse()


async def refused(request: FetchRequest) -> FetchResponse:
    return FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


@asynccontextmanager
async def running(
    root: Path, answer: Answer, partitions: int = 1, **configs: str
) -> AsyncIterator[tuple[Controller, QuorumBroker, Leader]]:
    """A broker, which follows the other one."""
    leader = Leader(answer)
    more = {name.replace("_", "."): value for name, value in configs.items()}
    async with controllers(2, partitions) as controller, trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, leader.serve, 0, host="127.0.0.1")
        (listener,) = await nursery.start(serve)
        await register(controller, listener.socket.getsockname()[1])
        with QuorumBroker(config(root, ME, controller, **more)) as broker:
            with trio.fail_after(SECONDS):
                await nursery.start(broker.serve)
            yield controller, broker, leader
            nursery.cancel_scope.cancel()


async def test_a_follower_asks_for_as_much_as_it_is_told(tmp_path: Path) -> None:
    configs = {
        "replica.fetch.wait.max.ms": "77",
        "replica.fetch.min.bytes": "3",
        "replica.fetch.max.bytes": "1234",
        "replica.fetch.response.max.bytes": "5678",
    }
    async with running(tmp_path, nothing, **configs) as (_, _, leader):
        await until(lambda: bool(leader.asked))
        (_, asked), *_ = leader.asked
        assert (asked.max_wait_ms, asked.min_bytes, asked.max_bytes) == (77, 3, 5678)
        assert asked.topics[0].partitions[0].partition_max_bytes == 1234


async def test_a_follower_waits_for_so_long_after_a_refusal(tmp_path: Path) -> None:
    async with running(tmp_path, refused, replica_fetch_backoff_ms="1300") as (_, _, leader):
        await until(lambda: len(leader.asked) > 1)
        (first, _), (second, _), *_ = leader.asked
        assert second - first > 1.29


async def test_a_follower_gives_a_silent_leader_so_much_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    shorter = {"replica_socket_timeout_ms": "300", "replica_fetch_wait_max_ms": "300"}
    async with running(tmp_path, never, **shorter):
        await until(lambda: "no answer in 0.3 s" in caplog.text)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_throttles_are_as_configured(side: str) -> None:
    """Samples of 2 s, of which three are kept: what was 6 s ago is forgotten."""
    configs = {
        "replication.quota.window.num": "3",
        "replication.quota.window.size.seconds": "2",
        "leader.replication.throttled.rate": "100",
        "follower.replication.throttled.rate": "100",
    }
    own = BrokerConfig(configs)
    throttle = getattr(throttles_of(own), side)
    assert not throttle.is_used_up(0.0)
    throttle.record(200, 0.0)
    assert not throttle.is_used_up(0.0)
    throttle.record(1000, 0.0)
    assert throttle.is_used_up(5.9)
    assert not throttle.is_used_up(6.0)
    own = BrokerConfig({name: value for name, value in configs.items() if side not in name})
    throttle = getattr(throttles_of(own), side)
    throttle.record(1 << 40, 0.0)
    assert not throttle.is_used_up(0.0)


# -- a coordinator waits for its replicas


async def lead(controller: Controller, broker: QuorumBroker, topic: str) -> None:
    """The broker leads from now on, and the other one is in sync."""
    async with controller.deciding:
        for state in controller.states:
            state.leader, state.isr, state.elr = ME, [ME, OTHER], []
            state.leader_epoch += 1
            state.partition_epoch += 1
        indices = range(len(controller.states))
        assert await controller.log.write([controller.record(index) for index in indices])

    def is_coordinated() -> bool:
        found = broker.topics.get(topic)
        return found is not None and all(each.coordinated_here >= 0 for each in found.partitions)

    await until(is_coordinated)


def commit() -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="t", topic_id=TOPIC_ID, partitions=[partition])
    return OffsetCommitRequest(group_id="g", topics=[topic])


def share_state() -> InitializeShareGroupStateRequest:
    partition = PartitionData(partition=0, state_epoch=1, start_offset=0)
    return InitializeShareGroupStateRequest(
        "g", [InitializeStateData(topic_id=TOPIC_ID, partitions=[partition])]
    )


def code_of(answer: Any) -> int:
    topics = answer.results if hasattr(answer, "results") else answer.topics
    code: int = topics[0].partitions[0].error_code
    return code


@pytest.mark.parametrize(
    ("topic", "name", "request_of"),
    [
        (OFFSETS_TOPIC, "offsets.commit.timeout.ms", commit),
        (SHARE_STATE_TOPIC, "share.coordinator.write.timeout.ms", share_state),
    ],
)
async def test_a_coordinator_waits_for_so_long(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    topic: str,
    name: str,
    request_of: Callable[[], object],
) -> None:
    """For a replica that never fetches. By default it is five seconds."""
    monkeypatch.setattr(model_controller, "TOPIC", topic)
    async with running(tmp_path, nothing, **{name: "400"}) as (controller, broker, _):
        await lead(controller, broker, topic)
        began = monotonic()
        answer = await ask(broker, request_of())
        assert code_of(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert 0.4 <= monotonic() - began < 5
