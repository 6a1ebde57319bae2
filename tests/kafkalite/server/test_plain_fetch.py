"""The short way from a Fetch frame to its answer is equal to the declared one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.broker import Broker
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.log.log import AppendOrigin
from kafkalite.log.open_files import FileSlice
from kafkalite.replica.partition import Partition
from kafkalite.requests.context import CloseConnection
from kafkalite.server.dispatch import Dispatcher
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tests.kafkalite.conftest import batch

NODE_ID = 1
PARTITIONS = 3  # of each topic; the last stays empty
TRANSACTIONAL = "transactional"
TOPICS = ("a", "b", "t" * 130, TRANSACTIONAL)
BATCHES = 4


class Asked:
    """A broker with records, asked by either way; nothing that is asked changes it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, None)
        listener = SimpleNamespace(node_id=NODE_ID, name="PLAINTEXT")
        self.connection: Any = SimpleNamespace(
            listener=listener,
            client_host="127.0.0.1",
            last_active=0.0,
            move_to_task=self.waits,
            wait_until=self.waits,
        )
        self.ids: dict[str, UUID] = {"none": UUID(int=7)}
        for name in TOPICS:
            self.ids[name] = broker.services.topics.create(NewTopic(name, PARTITIONS, 1)).topic_id
            topic = broker.services.topics.get(name)
            assert topic is not None
            for index in range(PARTITIONS - 1):
                for number in range(BATCHES):
                    topic.partitions[index].append(batch(bytes(100 * number + index), b"x"))
            if name == TRANSACTIONAL:
                add_transactions(topic.partitions)
        topic.partitions[0].delete_records_before(2)

    async def waits(self, *_: object, **__: object) -> None:
        raise _Waits

    def short(self, frame: bytes, *, as_view: bool = False) -> bytes | None:
        chunks = self.dispatcher.straight(self.connection, memoryview(frame) if as_view else frame)
        assert not isinstance(chunks, bytes)
        return None if chunks is None else joined(chunks)

    def declared(self, frame: bytes) -> Any:
        try:
            self.dispatcher.answer(self.connection, frame).send(None)
        except StopIteration as done:
            return joined(done.value)
        except (_Waits, ProtocolViolation, CloseConnection) as error:
            return type(error)
        raise AssertionError("it waited elsewhere")

    def frame(
        self,
        version: int,
        topics: list[tuple[str, list[tuple[int, dict[str, int]]]]],
        *,
        client_id: str | None = "test",
        forgotten: bool = False,
        **others: Any,
    ) -> bytes:
        wanted = [
            FetchTopic(
                topic=name,
                topic_id=self.ids[name],
                partitions=[FetchPartition(partition=i, **rest) for i, rest in partitions],
            )
            for name, partitions in topics
        ]
        gone = [ForgottenTopic(topic="a", topic_id=self.ids["a"], partitions=[0])]
        body = FetchRequest(
            topics=wanted,
            forgotten_topics_data=gone if forgotten and version >= 7 else [],
            **{"max_wait_ms": 100, "min_bytes": 1, "isolation_level": 0, **others},
        )
        return b"".join(map(bytes, encode_request(ApiKey.FETCH, version, 77, client_id, body)))[4:]


def add_transactions(partitions: Sequence[Partition]) -> None:
    """One that was aborted, one that was committed in the next partition, and in both an open one."""
    for index, commit in enumerate((False, True)):
        log = partitions[index].log
        for producer_id in (1, 2):
            records = batch(
                b"in a transaction",
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
            log.append(records, leader_epoch=0)
        marker = build_end_transaction_marker(
            producer_id=1,
            producer_epoch=0,
            commit=commit,
            coordinator_epoch=0,
            timestamp=1_600_000_000_000,
        )
        log.append(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        log.advance_high_watermark(log.log_end_offset)


class _Waits(Exception):
    """The declared way has to wait."""


def joined(chunks: list[Any]) -> bytes:
    found = []
    for chunk in chunks:
        if isinstance(chunk, FileSlice):
            with chunk:
                found.append(chunk.read())
        else:
            found.append(bytes(chunk))
    return b"".join(found)


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        properties = {
            "log.dirs": directory,
            "listeners": "PLAINTEXT://127.0.0.1:0",
            # Records are put into the logs without a coordinator that knows of their transactions.
            "transaction.partition.verification.enable": "false",
        }
        yield Asked(stack.enter_context(Broker(BrokerConfig(properties))))


WANTED = st.fixed_dictionaries(
    {
        "fetch_offset": st.sampled_from([0, 0, 1, 2, 5, *range(2 * BATCHES, 2 * BATCHES + 5), -1]),
        "partition_max_bytes": st.sampled_from([1 << 20, 1 << 20, 200, 1, 0, -1]),
        "current_leader_epoch": st.sampled_from([-1, -1, -1, 0, 1, -2]),
        "last_fetched_epoch": st.sampled_from([-1, -1, -1, -1, 0, 3]),
    }
)
NORMAL = st.fixed_dictionaries({"fetch_offset": st.integers(0, 2 * BATCHES)}).map(
    lambda one: {"partition_max_bytes": 1 << 20, **one}
)
PARTITION = st.tuples(st.integers(-1, PARTITIONS), WANTED) | st.tuples(
    st.integers(0, PARTITIONS - 1), NORMAL
)
PARTITIONS_ASKED = st.lists(PARTITION, min_size=1, max_size=3) | st.lists(PARTITION, max_size=1)
REQUESTS = st.fixed_dictionaries(
    {
        "version": st.integers(12, 18),
        "topics": st.lists(
            st.tuples(st.sampled_from([*TOPICS, *TOPICS, "none"]), PARTITIONS_ASKED), max_size=3
        ),
        "client_id": st.sampled_from([None, "", "test", "test", "tést"]),
        "max_wait_ms": st.sampled_from([0, 100, -1]),
        "min_bytes": st.sampled_from([0, 1, 1, 100, 1000, -1]),
        "max_bytes": st.sampled_from([1 << 30, 1 << 30, 300, 0, -1]),
        "isolation_level": st.sampled_from([0, 0, 1, 1, 2]),
        "rack_id": st.sampled_from(["", "", "", "here"]),
        "forgotten": st.sampled_from([False, False, False, True]),
        "session_id": st.sampled_from([0, 0, 0, 5]),
    }
)
CHANGES = st.none() | st.none() | st.tuples(st.integers(4, 120), st.integers(0, 255))


@settings(deadline=None, max_examples=600)
@given(
    request=REQUESTS, change=CHANGES, cut=st.sampled_from([0, 0, 0, 1, 45]), as_view=st.booleans()
)
def test_it_is_equal_to_the_declared_way(
    asked: Asked, request: dict[str, Any], change: tuple[int, int] | None, cut: int, as_view: bool
) -> None:
    frame = bytearray(asked.frame(**request))
    if change is not None and change[0] < len(frame):
        frame[change[0]] = change[1]
    if cut:
        del frame[-cut:]
    answer = asked.short(bytes(frame), as_view=as_view)
    if answer is not None:
        assert answer == asked.declared(bytes(frame))


@pytest.mark.parametrize("version", range(12, 18))
@pytest.mark.parametrize("max_bytes", [1 << 20, 100, 0])
def test_it_is_taken_where_it_goes(asked: Asked, version: int, max_bytes: int) -> None:
    parts = [(index, {"fetch_offset": 2, "partition_max_bytes": 1 << 20}) for index in (1, 2, 0)]
    one = asked.frame(version, [("a", parts[:1])], max_bytes=max_bytes)
    all_of_two = asked.frame(version, [("a", parts[:1]), ("b", parts[::2])], max_bytes=max_bytes)
    for frame in (one, all_of_two):
        answer = asked.short(frame)
        assert answer is not None
        assert answer == asked.declared(frame)


@pytest.mark.parametrize("version", range(12, 18))
def test_one_who_reads_what_is_committed_takes_it_too(asked: Asked, version: int) -> None:
    """As librdkafka does unless told otherwise; but for what was aborted."""
    part = {"fetch_offset": 2, "partition_max_bytes": 1 << 20}
    open_only = {**part, "fetch_offset": 2 * BATCHES + 1}
    for name, index, wanted, is_short in (
        ("a", 1, part, True),
        (TRANSACTIONAL, 0, part, False),  # one was aborted
        (TRANSACTIONAL, 1, part, True),  # one was committed, and one is open
        (TRANSACTIONAL, 1, open_only, False),
    ):
        frame = asked.frame(version, [(name, [(index, wanted)])], isolation_level=1)
        answer = asked.short(frame)
        assert (answer is not None) is is_short
        assert answer is None or answer == asked.declared(frame)


def test_a_frame_that_ends_in_an_id_is_not_taken(asked: Asked) -> None:
    whole = asked.frame(17, [("a", [(0, {"fetch_offset": 2})])])
    for size in range(4, len(whole)):
        assert asked.short(whole[:size]) is None


def test_it_is_not_taken_for_less_than_is_asked_for(asked: Asked) -> None:
    end = [(0, {"fetch_offset": 2 * BATCHES, "partition_max_bytes": 1 << 20})]
    assert asked.short(asked.frame(16, [("a", end)])) is None
    assert asked.declared(asked.frame(16, [("a", end)])) is _Waits


def test_no_file_stays_open_for_what_is_not_answered(asked: Asked) -> None:
    some = [(0, {"fetch_offset": 0, "partition_max_bytes": 1 << 20})]
    assert asked.short(asked.frame(16, [("a", some)], min_bytes=1 << 20)) is None
    topic = asked.broker.services.topics.get("a")
    assert topic is not None
    assert not topic.partitions[0].log.segments.active.file.in_use


def test_it_is_not_taken_when_requests_are_measured(asked: Asked) -> None:
    measuring = Dispatcher(asked.broker.services, lambda api, handler: handler)
    some = [(0, {"fetch_offset": 0, "partition_max_bytes": 1 << 20})]
    assert measuring.straight(asked.connection, asked.frame(16, [("a", some)])) is None
