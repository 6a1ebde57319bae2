"""Requests find the active controller, wherever it is by now."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio
import trio.testing

from kafkalite.peers.link import Address, PeerGone
from kafkalite.quorum.assignments import Assignments
from kafkalite.quorum.channel import ControllerChannel, NoController
from kafkalite.quorum.forwarding import Forwarding
from kafkalite.quorum.topic_requests import TopicRequests
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from kafkalite.wire.messages.broker_heartbeat import BrokerHeartbeatResponse
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsResponse
from kafkalite.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafkalite.wire.messages.stored import decode
from kafkalite.wire.messages.stored.default_principal_data import DefaultPrincipalData

A, B = Address("a", 1), Address("b", 2)
IDS = [UUID(int=100 + number) for number in range(10)]


class Quorum:
    def __init__(self, leader: Address | None) -> None:
        self.leader_address = leader


class Answers:
    """In the place of a channel's link: what is answered, in turn."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Address, object]] = []

    async def ask(self, address: Address, body: object, *, timeout_seconds: float) -> object:
        self.asked.append((address, body))
        await trio.sleep(0.01)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def channel(quorum: Quorum, *answers: object) -> tuple[ControllerChannel, Answers]:
    made, link = ControllerChannel("test", quorum), Answers(*answers)
    made._link = link
    return made, link


OK = BrokerHeartbeatResponse(is_caught_up=True)
ELSEWHERE = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)


async def test_it_asks_until_the_right_one_answers(autojump_clock: trio.testing.MockClock) -> None:
    quorum = Quorum(A)
    asking, link = channel(quorum, PeerGone("a: gone"), ELSEWHERE, OK)
    assert await asking.ask("body", timeout_seconds=60) is OK
    assert len(link.asked) == 3


async def test_it_waits_for_a_leader(autojump_clock: trio.testing.MockClock) -> None:
    quorum = Quorum(None)
    asking, link = channel(quorum, OK)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: asking.ask("body", timeout_seconds=60))
        await trio.sleep(5)
        assert link.asked == []
        quorum.leader_address = B
    assert [address for address, _ in link.asked] == [B]


async def test_it_gives_up_in_time(autojump_clock: trio.testing.MockClock) -> None:
    asking, _ = channel(Quorum(A), PeerGone("a: gone"))
    began = trio.current_time()
    with pytest.raises(NoController, match="a: gone"):
        await asking.ask("body", timeout_seconds=3)
    assert trio.current_time() - began == pytest.approx(3)


@pytest.mark.parametrize(
    ("host", "packed"),
    [
        ("10.1.2.3", bytes([10, 1, 2, 3])),
        ("::ffff:10.1.2.3", bytes([10, 1, 2, 3])),
        ("::1", bytes(15) + b"\1"),
        ("fe80::1%eth0", bytes.fromhex("fe80" + "00" * 13 + "01")),
    ],
)
async def test_an_envelope_says_who_asks(
    autojump_clock: trio.testing.MockClock, host: str, packed: bytes
) -> None:
    asking, link = channel(Quorum(A), EnvelopeResponse(response_data=b"answer"))
    answer = await Forwarding(asking).forward(b"frame", host, principal_name="alice")
    assert answer == b"answer"
    ((_, envelope),) = link.asked
    assert isinstance(envelope, EnvelopeRequest)
    assert (envelope.request_data, envelope.client_host_address) == (b"frame", packed)
    assert envelope.request_principal[:2] == b"\0\0"
    principal = decode(DefaultPrincipalData, envelope.request_principal)
    assert (principal.type, principal.name) == ("User", "alice")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), ErrorCode.UNSUPPORTED_VERSION),
        (
            EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
        (EnvelopeResponse(response_data=None), ErrorCode.UNKNOWN_SERVER_ERROR),
        (PeerGone("gone"), ErrorCode.REQUEST_TIMED_OUT),
    ],
)
async def test_what_cannot_be_passed_on(
    autojump_clock: trio.testing.MockClock, answer: object, code: ErrorCode
) -> None:
    asking, _ = channel(Quorum(A), answer)
    with pytest.raises(KafkaError) as refused:
        await Forwarding(asking).forward(b"frame", "::1")
    assert refused.value.code is code


def told(topic: int, index: int, code: ErrorCode) -> AssignReplicasToDirsResponse:
    partition = PartitionData(partition_index=index, error_code=code)
    topics = [TopicData(topic_id=IDS[topic], partitions=[partition])]
    return AssignReplicasToDirsResponse(directories=[DirectoryData(id=IDS[9], topics=topics)])


async def test_directories_are_told_together_and_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asking, link = channel(
        Quorum(A),
        AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH),
        told(0, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        told(0, 1, ErrorCode.NONE),
    )
    assignments = Assignments(1, lambda: 5, asking)
    assignments.tell(IDS[0], 0, IDS[8])
    assignments.tell(IDS[0], 0, IDS[9])
    assignments.tell(IDS[0], 1, IDS[9])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        await trio.sleep(30)
        nursery.cancel_scope.cancel()
    sent = [
        {
            (each.id, partition.partition_index)
            for each in body.directories
            for topic in each.topics
            for partition in topic.partitions
        }
        for _, body in link.asked
    ]
    both = {(IDS[9], 0), (IDS[9], 1)}
    assert sent == [both, both, {(IDS[9], 1)}]


async def test_a_topic_is_asked_for_once_at_a_time(autojump_clock: trio.testing.MockClock) -> None:
    asking, link = channel(Quorum(A), CreateTopicsResponse())
    requests = TopicRequests(asking)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        for _ in range(5):
            requests.ask_for(CreatableTopic(name="t"))
            await trio.sleep(0.001)
        await trio.sleep(1)
        assert len(link.asked) == 1
        requests.ask_for(CreatableTopic(name="t"))
        await trio.sleep(1)
        assert len(link.asked) == 2
        nursery.cancel_scope.cancel()
