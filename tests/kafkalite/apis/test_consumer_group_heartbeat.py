"""ConsumerGroupHeartbeat: joining, staying and leaving by one request (KIP-848)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.group_coordinator import expressions
from kafkalite.group_coordinator.expressions import Expression
from kafkalite.requests.slices import AT_ONCE
from kafkalite.security.authorizer import Authorizer
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.kafkalite.conftest import Client
from tests.kafkalite.group_requests import find, with_words
from tests.kafkalite.longest_turn import longest_turn


def first(member_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=9_000,
        subscribed_topic_names=["words"],
        topic_partitions=[],
    )


@pytest.mark.parametrize("version", [0, 1])
async def test_a_member_joins_stays_and_leaves(clients: Any, version: int) -> None:
    client, topic_id = await with_words(clients)
    joined = await client.ask(first("" if version == 0 else "mine"), version)
    assert (joined.error_code, joined.heartbeat_interval_ms) == (ErrorCode.NONE, 5000)
    assert joined.member_id == "mine" if version else joined.member_id
    (topic,) = joined.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (topic_id, [0])

    async def beat(epoch: int, member_id: str = joined.member_id) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id="group", member_id=member_id, member_epoch=epoch
        )
        return await client.ask(request, version)

    stays = await beat(joined.member_epoch)
    assert (stays.error_code, stays.assignment) == (ErrorCode.NONE, None)
    assert (await beat(joined.member_epoch + 7)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert (await beat(1, "other")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await beat(-1)).error_code == ErrorCode.NONE
    assert (await beat(joined.member_epoch)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_since_version_1_a_member_makes_its_id(clients: Any) -> None:
    client, _ = await with_words(clients)
    refused = await client.ask(first(""), 1)
    assert refused.error_code == ErrorCode.INVALID_REQUEST


@pytest.fixture
def compiled_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Thread]]:
    """The threads that compile expressions."""
    threads: list[threading.Thread] = []
    compiled = expressions._compiled

    def noted(expression: str) -> Expression | KafkaError:
        threads.append(threading.current_thread())
        return compiled(expression)

    monkeypatch.setattr(expressions, "_compiled", noted)
    expressions._kept.clear()
    yield threads
    expressions._kept.clear()


def by_expression(expression: str) -> ConsumerGroupHeartbeatRequest:
    request = first("mine")
    request.subscribed_topic_names = None
    request.subscribed_topic_regex = expression
    return request


async def test_a_thread_looks_at_an_expression(
    clients: Any, compiled_in: list[threading.Thread]
) -> None:
    client, topic_id = await with_words(clients)
    joined = await client.ask(by_expression("wo.*"), 1)
    (topic,) = joined.assignment.topic_partitions
    assert topic.topic_id == topic_id
    refused = await client.ask(by_expression("("), 1)
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(compiled_in) == 2
    assert threading.main_thread() not in compiled_in


async def test_a_thread_looks_at_many_topics_that_are_new(
    clients: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat that finds them names no expression."""
    looked_by: dict[str, threading.Thread] = {}

    def compiled(expression: str) -> Expression:
        def matches(name: str) -> bool:
            looked_by[name] = threading.current_thread()
            return name.startswith("wo")

        return Expression(matches)

    monkeypatch.setattr(expressions, "_compiled", compiled)
    expressions._kept.clear()
    client, _ = await with_words(clients)
    joined = await client.ask(by_expression("wo.*"), 1)
    names = {f"wo{index}" for index in range(100)}
    for name in names:
        clients.broker.create_topic(name, partitions=1)
    beat = ConsumerGroupHeartbeatRequest(
        group_id="group", member_id="mine", member_epoch=joined.member_epoch
    )
    assigned = (await client.ask(beat, 1)).assignment.topic_partitions
    assert len(assigned) == 101
    assert {looked_by[name] for name in names}.isdisjoint({threading.main_thread()})
    expressions._kept.clear()


async def test_an_expression_is_looked_at_while_its_group_is_loaded(
    tmp_path: Path, compiled_in: list[threading.Thread]
) -> None:
    async def joined_or_found(b: a_broker, *, joins: bool) -> None:
        host, _, port = b.bootstrap.rpartition(":")
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            client = Client(stream)
            await find(client)
            if joins:
                assert (await client.ask(by_expression("wo.*"), 1)).error_code == ErrorCode.NONE

    async with a_broker(data_dir=tmp_path) as b:
        await joined_or_found(b, joins=True)
    expressions._kept.clear()
    async with a_broker(data_dir=tmp_path) as b:
        await joined_or_found(b, joins=False)
        assert expressions.has_looked_at("wo.*", [])
    assert len(compiled_in) == 2


async def test_the_authorizer_is_asked_for_many_topics_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An expression matches what its member may describe."""
    is_allowed = Authorizer.is_allowed

    def slowly(self: Authorizer, *question: Any, **options: Any) -> bool:
        until = time.thread_time() + 0.0003
        while time.thread_time() < until:
            pass
        return question[-1] != "t7" and is_allowed(self, *question, **options)

    config = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    async with a_broker(config) as b:
        for number in range(AT_ONCE + 1):
            b.create_topic(f"t{number}", partitions=1)
        host, _, port = b.bootstrap.rpartition(":")
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            client = Client(stream)
            await find(client)
            monkeypatch.setattr(Authorizer, "is_allowed", slowly)
            with longest_turn() as longest:
                joined = await client.ask(by_expression("t.*"), 1)
    assert len(joined.assignment.topic_partitions) == AT_ONCE
    assert longest.seconds < 0.02
