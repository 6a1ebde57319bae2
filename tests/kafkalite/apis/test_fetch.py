"""Fetch: which bytes, how many, and exactly when."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kafkalite.apis.fetch import _size
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import (
    FetchRequest,
    ForgottenTopic,
    ReplicaState,
)
from tests.kafkalite.fetching import ALIVE, answers, batch, fetch, produce, values

LAST_WITH_NAMES = 12


@pytest.fixture
def topic(broker: test_broker) -> str:
    broker.create_topic("words", partitions=3)
    return "words"


@pytest.mark.parametrize("version", range(4, 13))
async def test_what_was_produced_comes_back_as_it_was(client, topic: str, version: int) -> None:
    sent = batch(b"a", b"b")
    await produce(client, sent)
    response = await client.ask(fetch({0: 0}), version)
    (answer,) = answers(response).values()
    assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 2, 2)
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert answer.aborted_transactions is None
    assert bytes(answer.records)[16:] == sent[16:]  # only offset and leader epoch may differ
    assert values(answer.records) == [b"a", b"b"]


@pytest.mark.parametrize("version", [7, 11])
async def test_a_session_goes_on_in_a_version_that_cannot_tell_of_a_divergence(
    client, topic: str, version: int
) -> None:
    await produce(client, batch(b"a"))
    opened = await client.ask(fetch({0: 0, 1: 0}, session_epoch=0), 12)
    session = {"session_id": opened.session_id}
    diverged = fetch({0: 2}, **session, session_epoch=1, last_fetched_epoch=0)
    assert answers(await client.ask(diverged, 12))[0].diverging_epoch.end_offset == 1
    refused = await client.ask(fetch({1: 0}, **session, session_epoch=2), version)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert refused.session_id == opened.session_id
    assert answers(refused)[1].error_code == ErrorCode.UNSUPPORTED_VERSION
    again = await client.ask(fetch({0: 0}, **session, session_epoch=3), version)
    assert values(answers(again)[0].records) == [b"a"]


@pytest.mark.parametrize("version", range(13, 19))
async def test_by_topic_id(client, broker: test_broker, topic: str, version: int) -> None:
    await produce(client, batch(b"a"))
    request = fetch({0: 0})
    request.topics[0].topic_id = broker.topic_id(topic)
    assert values(answers(await client.ask(request, version))[0].records) == [b"a"]
    request.topics[0].topic_id = uuid4()
    answer = answers(await client.ask(request, version))[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert (answer.high_watermark, len(answer.records)) == (-1, 0)


async def test_a_session_s_topic_that_came_again_with_fewer_partitions(
    client, broker: test_broker, topic: str
) -> None:
    """A partition that is there has another topic's id; one that is not is unknown, as in Kafka."""
    full = fetch({0: 0, 2: 0}, session_epoch=0)
    full.topics[0].topic_id = broker.topic_id(topic)
    opened = await client.ask(full, 16)
    await broker.asynchronous.delete_topic(topic)
    await broker.asynchronous.create_topic(topic, partitions=1)
    more = FetchRequest(session_id=opened.session_id, session_epoch=1, max_wait_ms=0, topics=[])
    found = answers(await client.ask(more, 16))
    told = {index: (each.error_code, each.aborted_transactions) for index, each in found.items()}
    assert told == {
        0: (ErrorCode.INCONSISTENT_TOPIC_ID, None),
        2: (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
    }


@pytest.mark.parametrize(("most", "told"), [(0, []), (1, None), (10_000, [])])
async def test_no_aborted_transactions_are_told_of_a_batch_that_does_not_fit(
    client, topic: str, most: int, told: list[Any] | None
) -> None:
    """The first partition's batch comes whole; the second's is limited."""
    for partition in (0, 1):
        await produce(client, batch(b"a"), partition=partition)
    request = fetch({0: 0, 1: 0}, isolation_level=1)
    request.topics[0].partitions[1].partition_max_bytes = most
    answer = answers(await client.ask(request, LAST_WITH_NAMES))[1]
    assert answer.aborted_transactions == told
    assert bool(answer.records) == (most == 10_000)


async def test_no_records_is_empty_and_never_null(client, topic: str) -> None:
    for request in (fetch({0: 0}), fetch({0: 5}), fetch({9: 0}), fetch({0: 0}, "nowhere")):
        (answer,) = answers(await client.ask(request, LAST_WITH_NAMES)).values()
        assert answer.records is not None
        assert len(answer.records) == 0


async def test_the_batch_that_holds_the_offset_comes_whole(client, topic: str) -> None:
    await produce(client, batch(b"a", b"b", b"c"))
    response = await client.ask(fetch({0: 1}), LAST_WITH_NAMES)
    assert values(answers(response)[0].records) == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("offset", "error"),
    [(-1, ErrorCode.OFFSET_OUT_OF_RANGE), (2, ErrorCode.OFFSET_OUT_OF_RANGE), (1, ErrorCode.NONE)],
)
async def test_out_of_range(client, topic: str, offset: int, error: ErrorCode) -> None:
    await produce(client, batch(b"a"))
    answer = answers(await client.ask(fetch({0: offset}), LAST_WITH_NAMES))[0]
    assert answer.error_code == error
    told = (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
    assert told == ((-1, -1, -1) if error else (1, 1, 0))


async def test_the_first_batch_is_whole_and_later_partitions_get_what_is_left(
    client, topic: str
) -> None:
    for partition in range(3):
        await produce(client, batch(bytes(1000)), partition)
    for limits in ({"max_bytes": 10}, {"max_bytes": 1500}):
        response = answers(await client.ask(fetch({0: 0, 1: 0, 2: 0}, **limits), LAST_WITH_NAMES))
        assert len(values(response[0].records)) == 1
        assert [len(response[index].records) for index in (1, 2)] == [0, 0]
    limits = {"partition_max_bytes": 10}
    response = answers(await client.ask(fetch({0: 0, 1: 0}, **limits), LAST_WITH_NAMES))
    assert (len(values(response[0].records)), len(response[1].records)) == (1, 0)
    response = answers(await client.ask(fetch({0: 1, 1: 0, 2: 0}, max_bytes=10), LAST_WITH_NAMES))
    assert [len(values(response[index].records)) for index in range(3)] == [0, 1, 0]


async def test_parks_until_an_append(clients, topic: str, autojump_clock: MockClock) -> None:
    consumer, producer = await clients.connect(), await clients.connect()
    began = trio.current_time()
    await consumer.send(fetch({0: 0, 1: 0}, max_wait_ms=500), LAST_WITH_NAMES)
    await wait_all_tasks_blocked(0.1)
    await produce(producer, batch(b"new"), 1)
    response = await consumer.answer()
    assert values(answers(response)[1].records) == [b"new"]
    assert trio.current_time() - began < 0.4


async def test_answers_empty_after_max_wait(client, topic: str, autojump_clock: MockClock) -> None:
    began = trio.current_time()
    response = await client.ask(fetch({0: 0}, max_wait_ms=500), LAST_WITH_NAMES)
    assert trio.current_time() - began == pytest.approx(0.5, abs=0.01)
    assert len(answers(response)[0].records) == 0


async def test_min_bytes_is_waited_for(clients, topic: str, autojump_clock: MockClock) -> None:
    consumer, producer = await clients.connect(), await clients.connect()
    await produce(producer, batch(bytes(100)))
    request = fetch({0: 0, 1: 0}, max_wait_ms=10_000, min_bytes=500)
    await consumer.send(request, LAST_WITH_NAMES)
    began = trio.current_time()
    await trio.sleep(1)
    await produce(producer, batch(bytes(100)), 1)
    await trio.sleep(1)
    await produce(producer, batch(bytes(300)), 2)  # nobody asked for that partition
    await trio.sleep(1)
    await produce(producer, batch(bytes(300)), 1)
    response = answers(await consumer.answer())
    assert trio.current_time() - began == pytest.approx(3, abs=0.01)
    assert [len(values(response[index].records)) for index in (0, 1)] == [1, 2]


async def test_less_than_min_bytes_comes_after_max_wait(
    client, topic: str, autojump_clock: MockClock
) -> None:
    await produce(client, batch(b"little"))
    began = trio.current_time()
    request = fetch({0: 0}, max_wait_ms=2000, min_bytes=100_000)
    response = await client.ask(request, LAST_WITH_NAMES)
    assert trio.current_time() - began == pytest.approx(2, abs=0.01)
    assert values(answers(response)[0].records) == [b"little"]


async def test_another_request_on_the_connection_ends_the_wait(
    client, topic: str, autojump_clock: MockClock
) -> None:
    await produce(client, batch(b"little"))
    began = trio.current_time()
    await client.send(fetch({0: 0}, max_wait_ms=60_000, min_bytes=100_000), LAST_WITH_NAMES)
    await wait_all_tasks_blocked(0.1)
    await client.send(ALIVE)
    fetched = await client.answer()
    assert len(answers(fetched)[0].records) == 0  # not the little there is: min_bytes is unmet
    assert (await client.answer()).api_keys
    assert trio.current_time() - began < 1


async def test_the_early_answer_can_be_turned_off(autojump_clock: MockClock) -> None:
    from kafkalite.wire.codec import decode_response, encode_request

    async with test_broker({"kafkalite.answer.parked.fetch": False}) as running:
        running.create_topic("words", partitions=1)
        host, _, port = running.bootstrap.rpartition(":")
        stream = await trio.open_tcp_stream(host, int(port))
        began = trio.current_time()
        for key, version, request in ((1, 12, fetch({0: 0}, max_wait_ms=5000)), (18, 3, ALIVE)):
            frame = encode_request(key, version, key, "c", request)
            await stream.send_all(b"".join(map(bytes, frame)))
        data = b""
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4]):
            data += await stream.receive_some()
        assert decode_response(1, 12, data[4 : 4 + int.from_bytes(data[:4])])[0] == 1
        assert trio.current_time() - began == pytest.approx(5, abs=0.01)
        await stream.aclose()


@pytest.mark.parametrize("early", [True, False])
async def test_stopping_does_not_wait_for_a_parked_fetch(
    connect: Any, autojump_clock: MockClock, early: bool
) -> None:
    async with test_broker({"kafkalite.answer.parked.fetch": early}) as running:
        running.create_topic("words", partitions=1)
        client = await connect(running)
        await client.send(fetch({0: 0}, max_wait_ms=60_000), LAST_WITH_NAMES)
        await wait_all_tasks_blocked(0.1)
        began = trio.current_time()
        running._running.stop()
        assert (await client.answer()).error_code == 0
        assert await client.is_closed()
        await running._running.stopped.wait()
        assert trio.current_time() - began < 1


async def test_an_error_is_answered_at_once(client, topic: str, autojump_clock: MockClock) -> None:
    began = trio.current_time()
    for request in (fetch({0: 9}, max_wait_ms=5000), fetch({0: 0}, "nowhere", max_wait_ms=5000)):
        await client.ask(request, LAST_WITH_NAMES)
    await client.ask(fetch({}, max_wait_ms=5000), LAST_WITH_NAMES)
    assert trio.current_time() == began


async def test_deleting_the_topic_ends_the_wait(
    client, broker: test_broker, topic: str, autojump_clock: MockClock
) -> None:
    await client.send(fetch({0: 0}, max_wait_ms=60_000), LAST_WITH_NAMES)
    await wait_all_tasks_blocked(0.1)
    broker.delete_topic(topic)
    answer = answers(await client.answer())[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert trio.current_time() < 50


async def test_leader_epochs_are_compared(client, topic: str) -> None:
    epochs = {
        0: ErrorCode.NONE,
        1: ErrorCode.UNKNOWN_LEADER_EPOCH,
        -1: ErrorCode.NONE,
        -2: ErrorCode.NONE,
    }
    for epoch, error in epochs.items():
        request = fetch({0: 0}, current_leader_epoch=epoch)
        assert answers(await client.ask(request, LAST_WITH_NAMES))[0].error_code == error


async def test_a_session_from_beginning_to_end(clients, topic: str) -> None:
    consumer, producer = await clients.connect(), await clients.connect()

    async def ask(request: FetchRequest) -> tuple[int, dict]:
        response = await consumer.ask(request, LAST_WITH_NAMES)
        assert response.error_code == session_error
        return response.session_id, answers(response)

    session_error = ErrorCode.NONE
    session_id, told = await ask(fetch({0: 0, 1: 0, 2: 0}, session_epoch=0))
    assert session_id > 0
    assert sorted(told) == [0, 1, 2]
    assert await ask(fetch({}, session_id=session_id, session_epoch=1)) == (session_id, {})
    await produce(producer, batch(b"a"), 1)
    _, told = await ask(fetch({}, session_id=session_id, session_epoch=2))
    assert {index: values(each.records) for index, each in told.items()} == {1: [b"a"]}
    request = fetch({1: 1}, session_id=session_id, session_epoch=3)
    request.forgotten_topics_data = [ForgottenTopic(topic=topic, partitions=[0, 2])]
    assert await ask(request) == (session_id, {})
    session_error = ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert await ask(fetch({}, session_id=session_id, session_epoch=3)) == (0, {})
    session_error = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert await ask(fetch({}, session_id=session_id + 1, session_epoch=1)) == (0, {})


async def test_a_client_that_leaves_while_its_fetch_is_parked(clients, topic: str) -> None:
    leaver, other = await clients.connect(), await clients.connect()
    await leaver.send(fetch({0: 0}, max_wait_ms=60_000), LAST_WITH_NAMES)
    await wait_all_tasks_blocked(0.01)
    await leaver.stream.aclose()
    await produce(other, batch(b"a"))
    assert values(answers(await other.ask(fetch({0: 0}), LAST_WITH_NAMES))[0].records) == [b"a"]


async def test_a_slow_reader_holds_nobody_up(clients, topic: str) -> None:
    slow, other = await clients.connect(), await clients.connect()
    for _ in range(20):
        await produce(other, batch(bytes(900_000)))
    await slow.send(fetch({0: 0}, partition_max_bytes=1 << 26), LAST_WITH_NAMES)
    await wait_all_tasks_blocked(0.01)
    assert await other.ask(ALIVE)
    await produce(other, batch(b"more"), 1)
    fetched = answers(await slow.answer())[0]
    assert len(values(fetched.records)) == 20


@pytest.mark.parametrize("level", [-1, 2, 127])
async def test_there_is_no_such_isolation_level(client, topic: str, level: int) -> None:
    response = await client.ask(fetch({0: 0}, isolation_level=level), LAST_WITH_NAMES)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    (answer,) = answers(response).values()
    assert (answer.error_code, answer.high_watermark) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)


async def test_with_topic_ids_an_isolation_level_is_refused_once(
    client, broker: test_broker, topic: str
) -> None:
    asked = fetch({0: 0}, isolation_level=2)
    asked.topics[0].topic_id = broker.topic_id(topic)
    response = await client.ask(asked, 18)
    assert (response.error_code, response.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])


async def test_a_leader_epoch_below_none_is_none(client, topic: str) -> None:
    response = await client.ask(fetch({0: 0}, current_leader_epoch=-2), LAST_WITH_NAMES)
    assert answers(response)[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("replica_id", "epoch", "code"),
    [
        (7, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (7, 0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (7, 5, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-2, 0, ErrorCode.NONE),
    ],
)
async def test_a_broker_that_is_no_replica_is_refused(
    client, broker: test_broker, topic: str, replica_id: int, epoch: int, code: ErrorCode
) -> None:
    asked = fetch({0: 0}, replica_id=replica_id, current_leader_epoch=epoch)
    assert answers(await client.ask(asked, LAST_WITH_NAMES))[0].error_code == code
    asked.topics[0].topic_id = broker.topic_id(topic)
    asked.replica_id, asked.replica_state = -1, ReplicaState(replica_id=replica_id)
    response = await client.ask(asked, 18)
    answer = answers(response)[0]
    assert (answer.error_code, response.node_endpoints) == (code, [])
    is_told = code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader.leader_id == (1 if is_told else -1)


@pytest.mark.parametrize("size", ["max_bytes", "partition_max_bytes"])
async def test_a_negative_size_is_an_error_where_there_are_records(
    client, topic: str, size: str
) -> None:
    await produce(client, batch(b"a"))
    for offset, code in (
        (0, ErrorCode.UNKNOWN_SERVER_ERROR),
        (1, ErrorCode.NONE),
        (-1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (2, ErrorCode.OFFSET_OUT_OF_RANGE),
    ):
        response = await client.ask(fetch({0: offset}, **{size: -1}), LAST_WITH_NAMES)
        answer = answers(response)[0]
        assert (answer.error_code, answer.high_watermark) == (code, -1 if code else 1)
    # Only the first partition is read with the request's.
    await produce(client, batch(b"b"), 1)
    response = await client.ask(fetch({0: 0, 1: 0}, max_bytes=-1), LAST_WITH_NAMES)
    codes = {index: answer.error_code for index, answer in answers(response).items()}
    assert codes == {0: ErrorCode.UNKNOWN_SERVER_ERROR, 1: ErrorCode.NONE}


@pytest.mark.parametrize(("version", "size"), [(4, 12), (7, 18), (12, 16)])
def test_a_quota_counts_the_body_and_its_length(version: int, size: int) -> None:
    """Here of an answer without topics. Version 7 has a session, 12 compact arrays and tags."""
    context: Any = SimpleNamespace(api_version=version)
    assert at_once(_size(context, ())) == size
