"""Changes of large groups from outside: a thread works them out, one after the other."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio

from kafkalite.group_coordinator.rehearsal import Rehearsal
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.stored import encode
from tests.kafkalite.group_requests import with_words

PARTITIONS = 400


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that have worked something out."""
    noted: list[threading.Thread] = []
    work_out = Rehearsal.run

    def run(rehearsed: Rehearsal[Any, Any]) -> None:
        noted.append(threading.current_thread())
        work_out(rehearsed)

    monkeypatch.setattr(Rehearsal, "run", run)
    return noted


class Beating:
    """A member, the epoch it is in and the partitions that it has."""

    def __init__(self, client: Any, name: str, kind: str) -> None:
        self.client, self.name, self.kind = client, name, kind
        self.epoch = 0
        self.owned: list[TopicPartitions] = []

    @property
    def partitions(self) -> list[int]:
        return [partition for topic in self.owned for partition in topic.partitions]

    async def beat(self) -> None:
        who = {"group_id": self.kind, "member_id": self.name, "member_epoch": self.epoch}
        names = ["large"] if not self.epoch or self.kind == "consumer" else None
        request: Any = (
            ShareGroupHeartbeatRequest(**who, subscribed_topic_names=names)
            if self.kind == "share"
            else ConsumerGroupHeartbeatRequest(
                **who,
                subscribed_topic_names=names,
                rebalance_timeout_ms=9000,
                topic_partitions=self.owned,
            )
        )
        answer = await self.client.ask(request, 1)
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = [
                TopicPartitions(topic_id=topic.topic_id, partitions=list(topic.partitions))
                for topic in answer.assignment.topic_partitions
            ]


@pytest.mark.parametrize("kind", ["consumer", "share"])
async def test_members_that_join_at_once_share_everything(
    clients: Any, threads: list[threading.Thread], kind: str
) -> None:
    await with_words(clients)
    clients.broker.create_topic("large", partitions=PARTITIONS)
    members = [Beating(await clients.connect(), name * 22, kind) for name in ("a", "b")]
    for number in range(6):
        async with trio.open_nursery() as nursery:
            for member in members:
                nursery.start_soon(member.beat)
        if kind == "consumer" and not number:  # a share group's states are begun meanwhile
            assert len(threads) == len(members), "none was worked out for nothing"
        await trio.sleep(0.2)  # share states are begun
    assert [len(member.partitions) for member in members] == [PARTITIONS // 2] * 2
    has = [partition for member in members for partition in member.partitions]
    assert sorted(has) == list(range(PARTITIONS))
    assert threading.main_thread() not in threads


async def test_a_classic_member_joins_a_large_consumer_group(
    clients: Any, threads: list[threading.Thread]
) -> None:
    await with_words(clients)
    clients.broker.create_topic("large", partitions=PARTITIONS)
    consumer = Beating(await clients.connect(), "a" * 22, "consumer")
    await consumer.beat()
    threads.clear()
    subscription = encode(ConsumerProtocolSubscription(topics=["large"]), 1)
    request = JoinGroupRequest(
        group_id="consumer",
        member_id="classic",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    client = await clients.connect()
    joined = await client.ask(request, 9)
    assert (joined.error_code, joined.member_id) == (ErrorCode.NONE, "classic")
    assert len(threads) == 1
    assert threading.main_thread() not in threads
