"""Clients that used too much are told how long to wait, and are not read meanwhile."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.apis import APIS, Handler
from kafkalite.config import BrokerConfig
from kafkalite.requests.principal import Principal
from kafkalite.server.quota_gate import quota_gate
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import share_fetch
from kafkalite.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalite.wire.messages.describe_quorum import DescribeQuorumResponse
from kafkalite.wire.messages.elect_leaders import ElectLeadersResponse
from kafkalite.wire.messages.fetch import FetchRequest, ReplicaState
from kafkalite.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.wire.rows import rows_of
from tests.kafkalite.conftest import Client
from tests.kafkalite.fetching import ALIVE, answers, batch, fetch, produce, values
from tests.kafkalite.quotas_and_credentials import alter
from tests.kafkalite.security.in_force import OneNode
from tests.kafkalite.server.one_dispatcher import OneDispatcher, one_dispatcher

Connect = Callable[..., Awaitable[Client]]


def written(size: int) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=batch(bytes(size)))]
    topic = TopicProduceData(name="words", partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])


async def test_producers_wait(connect: Connect) -> None:
    async with broker() as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="fast")
        assert (await alter(client, {"client-id": "fast"}, producer_byte_rate=10_000))[0] == 0
        told = (await client.ask(written(120_000), 12)).throttle_time_ms
        # 120,000 bytes in a window of 10 seconds, and the second that goes on: 12,000 a second.
        assert 1000 < told < 15_000
        other = await connect(running, client_id="slow")
        assert (await other.ask(written(120_000), 12)).throttle_time_ms == 0
        began = trio.current_time()
        with trio.move_on_after(0.5):
            await client.ask(ALIVE, 3)
            raise AssertionError("it was read")
        assert trio.current_time() - began >= 0.4


async def test_the_wait_ends(connect: Connect) -> None:
    configs = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
    async with broker(configs) as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="fast")
        await alter(client, {"client-id": "fast"}, producer_byte_rate=10_000)
        told = (await client.ask(written(15_000), 12)).throttle_time_ms
        assert told > 0
        began = trio.current_time()
        assert (await client.ask(ALIVE, 3)).error_code == ErrorCode.NONE
        assert trio.current_time() - began >= told / 1000 - 0.1


async def test_consumers_wait_and_get_nothing(connect: Connect) -> None:
    async with broker() as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="writer")
        await produce(client, batch(*(bytes(1000) for _ in range(100))))
        await produce(client, batch(*(bytes(1000) for _ in range(100))))
        await alter(client, {"client-id": "reader"}, consumer_byte_rate=5_000)
        reader = await connect(running, client_id="reader")
        first = await reader.ask(fetch({0: 0}, max_bytes=1 << 20), 12)
        assert first.throttle_time_ms > 0
        assert not first.responses
        unlimited = await client.ask(fetch({0: 0}, max_bytes=1 << 20), 12)
        assert len(values(answers(unlimited)[0].records)) > 0


async def test_new_partitions_are_refused_when_the_tokens_are_spent(connect: Connect) -> None:
    configs = {
        "controller.quota.window.num": "2",
        "controller.quota.window.size.seconds": "1",
    }
    async with broker(configs) as running:
        client = await connect(running, client_id="maker")
        await alter(client, {"client-id": "maker"}, controller_mutation_rate=1)

        def create(name: str) -> CreateTopicsRequest:
            topic = CreatableTopic(name=name, num_partitions=4, replication_factor=1)
            return CreateTopicsRequest(topics=[topic], timeout_ms=1000)

        assert (await client.ask(create("a"), 6)).topics[0].error_code == ErrorCode.NONE
        refused = await client.ask(create("b"), 6)
        assert refused.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert refused.throttle_time_ms > 0
        # Older versions know no such error: what they ask for is done, and they wait.
        old = await connect(running, client_id="maker")
        done = await old.ask(create("c"), 5)
        assert done.topics[0].error_code == ErrorCode.NONE
        assert done.throttle_time_ms > 0


# The gate alone, in virtual time.

ALICE = Principal("User", "alice")


class Gated:
    """A handler behind the gate, asked by one client."""

    def __init__(self, asked: OneDispatcher, api_key: ApiKey, **limits: float) -> None:
        self.muted: list[float] = []
        self._asked = asked
        self._api = APIS[api_key]
        self.quotas = OneNode(asked.services.config)
        self.quotas.replace({(("user", "alice"),): limits})

    def ask(self, request: Any, handle: Handler, version: int | None = None, size: int = 0) -> Any:
        """The response; `muted` has the seconds for which the connection is not read."""
        context = self._asked.connection().context
        context.api_key = self._api.key
        context.api_version = self._api.max_version if version is None else version
        context.principal, context.request_bytes = ALICE, size
        began = trio.current_time()
        context.connection.mute = lambda until: self.muted.append(until - began)
        gate = quota_gate(lambda node_id: self.quotas)
        return gate(self._api, handle)(self._asked.services, context, request)


async def test_a_request_s_time_is_paid_for(autojump_clock: MockClock) -> None:
    with one_dispatcher() as asked:
        gated = Gated(asked, ApiKey.LIST_GROUPS, request_percentage=0.001)

        def slowly(*_: Any) -> ListGroupsResponse:
            time.sleep(0.01)
            return ListGroupsResponse()

        response = gated.ask(ListGroupsRequest(), slowly)
    # One sample is the most that time costs.
    assert response.throttle_time_ms == 1000
    assert gated.muted == [1.0]


@pytest.mark.parametrize(
    ("api_key", "response", "waits"),
    [
        (ApiKey.ELECT_LEADERS, ElectLeadersResponse(throttle_time_ms=700), [0.7]),
        (ApiKey.DELETE_TOPICS, DeleteTopicsResponse(throttle_time_ms=700), [0.7]),
        (ApiKey.DESCRIBE_QUORUM, DescribeQuorumResponse(), []),
    ],
    ids=["elections", "topics", "untold"],
)
async def test_a_wait_that_controllers_tell_is_waited_for(
    autojump_clock: MockClock, api_key: ApiKey, response: Any, waits: list[float]
) -> None:
    """Their quotas are others than the broker's."""
    with one_dispatcher() as asked:
        gated = Gated(asked, api_key, request_percentage=1e9, controller_mutation_rate=1e9)
        assert gated.ask(None, lambda *_: response) is response
    assert gated.muted == waits


@pytest.mark.parametrize("api_key", [ApiKey.SASL_HANDSHAKE, ApiKey.WRITE_TXN_MARKERS])
async def test_logins_and_brokers_pay_nothing(api_key: ApiKey) -> None:
    def handle(*_: Any) -> None:
        return None

    gate = quota_gate(lambda node_id: OneNode(BrokerConfig({})))
    assert gate(APIS[api_key], handle) is handle


async def test_bytes_of_a_produce_are_those_of_its_request(autojump_clock: MockClock) -> None:
    with one_dispatcher() as asked:
        gated = Gated(asked, ApiKey.PRODUCE, producer_byte_rate=1000)

        def produce_(*_: Any) -> Any:
            return rows_of(ProduceResponse())

        assert gated.ask(None, produce_, size=10_000)[1] == 0
        assert gated.ask(None, produce_, size=5_000)[1] == 5000
        # Without acknowledgement there is no response to say it in: the client is not read.
        assert gated.ask(None, lambda *_: None, size=1_000) is None
    assert gated.muted == [5.0, 6.0]


async def test_a_throttled_fetch_does_not_count(autojump_clock: MockClock) -> None:
    with one_dispatcher() as asked:
        gated = Gated(asked, ApiKey.FETCH, consumer_byte_rate=1000)
        request = rows_of(FetchRequest(max_bytes=1 << 20))
        seen: list[int] = []

        def fetch_(services: Any, context: Any, row: Any) -> Any:
            seen.append(row[5])
            wait_ms = context.wait_for(9_000)
            assert context.wait_for(9_000) == wait_ms, "it is measured once"
            return (wait_ms, 0, 0, [], [])

        waits = [gated.ask(request, fetch_)[0] for _ in range(3)]
        assert waits == [0, 8_000, 8_000], "what was not sent does not count"
    # No more is read than a whole window allows.
    assert seen == [10_000] * 3
    assert gated.muted == [8.0, 8.0]


async def test_brokers_fetch_as_much_as_they_can(autojump_clock: MockClock) -> None:
    with one_dispatcher() as asked:
        gated = Gated(asked, ApiKey.FETCH, consumer_byte_rate=1.0, request_percentage=1e-9)

        def fetch_(services: Any, context: Any, row: Any) -> Any:
            assert (row[5], context.wait_for) == (1 << 20, None)
            return (0, 0, 0, [], [])

        for old, new in ((2, -1), (-1, 2)):
            state = ReplicaState(replica_id=new)
            request = FetchRequest(max_bytes=1 << 20, replica_id=old, replica_state=state)
            assert gated.ask(rows_of(request), fetch_)[0] == 0
    assert gated.muted == []


async def test_a_throttled_fetch_tells_nothing(connect: Connect) -> None:
    """Its session does not open, or does not change: what was not told is still news."""
    async with broker({"log.retention.ms": "-1"}) as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="writer")
        await produce(client, batch(bytes(1000)))
        reader = await connect(running, client_id="reader")
        opened = await reader.ask(fetch({0: 1}, session_epoch=0), 12)
        assert opened.session_id
        await alter(client, {"client-id": "reader"}, consumer_byte_rate=1)
        await produce(client, batch(bytes(1000)))
        told = await reader.ask(fetch({}, session_id=opened.session_id, session_epoch=1), 12)
        assert (told.session_id, told.responses) == (opened.session_id, [])
        assert told.throttle_time_ms > 0
        second = await connect(running, client_id="reader")
        refused = await second.ask(fetch({0: 0}, session_epoch=0), 12)
        assert (refused.session_id, refused.responses) == (0, [])
        # Not even of what is wrong with a session does such a client hear.
        third = await connect(running, client_id="reader")
        unknown = await third.ask(fetch({}, session_id=77, session_epoch=5), 12)
        assert (unknown.error_code, unknown.session_id) == (ErrorCode.NONE, 0)
        assert unknown.throttle_time_ms > 0
        await alter(client, {"client-id": "reader"}, consumer_byte_rate=None)
        fourth = await connect(running, client_id="reader")
        again = fetch({}, session_id=opened.session_id, session_epoch=2)
        (partition,) = answers(await fourth.ask(again, 12)).values()
        assert partition.high_watermark == 2


async def test_topics_are_not_created_by_asking_when_the_tokens_are_spent(
    connect: Connect,
) -> None:
    async with broker({"controller.quota.window.num": "2"}) as running:
        client = await connect(running, client_id="maker")
        await alter(client, {"client-id": "maker"}, controller_mutation_rate=1)
        for name in "abcd":
            wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
            answer = await client.ask(wanted, 12)
            assert answer.throttle_time_ms == 0
            assert answer.topics[0].error_code in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert sorted(running._running.services.topics.by_name) == ["a", "b", "c"]


async def test_only_what_is_right_is_paid_for(connect: Connect) -> None:
    """The reason why a change cannot be made is said, though no tokens are left."""
    configs = {"controller.quota.window.num": "2"}
    async with broker(configs) as running:
        running.create_topic("t", partitions=1)
        client = await connect(running, client_id="maker")
        await alter(client, {"client-id": "maker"}, controller_mutation_rate=1)

        def create(**counts: int) -> CreateTopicsRequest:
            topics = [
                CreatableTopic(name=name, num_partitions=count, replication_factor=1)
                for name, count in counts.items()
            ]
            return CreateTopicsRequest(topics=topics, timeout_ms=1000)

        answer = await client.ask(create(a=5, t=1, b=0, c=1), 6)
        assert [each.error_code for each in answer.topics] == [
            ErrorCode.NONE,
            ErrorCode.TOPIC_ALREADY_EXISTS,
            ErrorCode.INVALID_PARTITIONS,
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ]
        other = await connect(running, client_id="maker")
        topics = [CreatePartitionsTopic("t", 1, None), CreatePartitionsTopic("a", 9, None)]
        grown = await other.ask(CreatePartitionsRequest(topics=topics, timeout_ms=1000), 3)
        assert [each.error_code for each in grown.results] == [
            ErrorCode.INVALID_PARTITIONS,
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ]
        third = await connect(running, client_id="maker")
        names = [DeleteTopicState(name="x"), DeleteTopicState(name="t")]
        deleted = await third.ask(DeleteTopicsRequest(topics=names, timeout_ms=1000), 6)
        assert {each.name: each.error_code for each in deleted.responses} == {
            "x": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "t": ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        }
        assert sorted(running._running.services.topics.by_name) == ["a", "t"]


async def test_a_throttled_share_fetch_brings_no_records(autojump_clock: MockClock) -> None:
    """Nor are they counted. Acknowledgements are answered all the same."""
    topic_id = UUID(int=5)
    batch = share_fetch.AcknowledgementBatch(0, 0, [1])

    def request() -> share_fetch.ShareFetchRequest:
        partitions = [share_fetch.FetchPartition(0, [batch]), share_fetch.FetchPartition(1)]
        topics = [share_fetch.FetchTopic(topic_id, partitions)]
        return share_fetch.ShareFetchRequest(max_bytes=1 << 20, topics=topics)

    seen: list[int] = []

    def fetch_(services: Any, context: Any, asked: Any) -> share_fetch.ShareFetchResponse:
        seen.append(asked.max_bytes)
        partitions = [
            share_fetch.PartitionData(
                partition_index=index,
                acknowledge_error_code=7,
                records=bytes(4_500),
                acquired_records=[share_fetch.AcquiredRecords(0, 9, 1)],
            )
            for index in (0, 1)
        ]
        topic = share_fetch.ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
        return share_fetch.ShareFetchResponse(responses=[topic])

    with one_dispatcher() as asked:
        gated = Gated(asked, ApiKey.SHARE_FETCH, consumer_byte_rate=1000)
        first = gated.ask(request(), fetch_)
        assert first.throttle_time_ms == 0
        assert [len(each.records) for each in first.responses[0].partitions] == [4_500, 4_500]
        second = gated.ask(request(), fetch_)
        assert second.throttle_time_ms > 0
        (answered,) = second.responses[0].partitions
        assert (answered.partition_index, answered.acknowledge_error_code) == (0, 7)
        assert (answered.records, answered.acquired_records) == (b"", [])
        third = gated.ask(request(), fetch_)
        assert third.throttle_time_ms == second.throttle_time_ms
    assert seen == [10_000] * 3
    assert len(gated.muted) == 2


async def test_very_many_topics_are_looked_at_in_slices(connect: Connect) -> None:
    """Known ids and names are many: the loop's watchdog says if it is held."""
    async with broker() as running:
        for number in range(100):
            running.create_topic(f"t{number}", partitions=1)
        client = await connect(running, client_id="fast")
        assert (await alter(client, {"client-id": "fast"}, controller_mutation_rate=1))[0] == 0
        unknown = [DeleteTopicState(name=None, topic_id=UUID(int=n + 1)) for n in range(50_000)]
        answer = await client.ask(DeleteTopicsRequest(topics=unknown, timeout_ms=1000), 6)
        assert {each.error_code for each in answer.responses} == {ErrorCode.UNKNOWN_TOPIC_ID}
        assert len(answer.responses) == len(unknown)
