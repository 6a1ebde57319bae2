"""The short way from a Produce frame to its answer is equal to the declared one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.broker import Broker
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.requests.context import CloseConnection
from kafkalite.server.dispatch import Dispatcher
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.kafkalite.conftest import batch

NODE_ID = 1
SHORT, DECLARED = "short-topic", "other-topic"  # names of one length
PARTITIONS = 2


class Pair:
    """Two topics that get the same, one by the short way where it goes."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, None)
        self.ids = {
            name: broker.services.topics.create(NewTopic(name, PARTITIONS, 1)).topic_id
            for name in (SHORT, DECLARED)
        }
        listener = SimpleNamespace(node_id=NODE_ID, name="PLAINTEXT")
        self.connection: Any = SimpleNamespace(
            listener=listener, client_host="127.0.0.1", last_active=0.0
        )
        for name in (SHORT, DECLARED):  # each epoch's first batch is not for the short way
            for index in range(PARTITIONS):
                self.declared(self.frame(name, 9, ((index, batch(b"first")),)))

    def frame(
        self,
        topic: str,
        version: int,
        partitions: tuple[tuple[int, bytes | None], ...],
        acks: int = -1,
        transactional_id: str | None = None,
        client_id: str | None = "test",
        times: int = 1,
    ) -> bytes:
        data = [PartitionProduceData(index, records) for index, records in partitions]
        one = TopicProduceData(topic, self.ids[topic], data)
        body = ProduceRequest(transactional_id, acks, 1000, [one] * times)
        chunks = encode_request(ApiKey.PRODUCE, version, 77, client_id, body)
        return b"".join(map(bytes, chunks))[4:]

    def short(self, frame: bytes, *, as_view: bool = False) -> bytes | None:
        return self.dispatcher.straight(self.connection, memoryview(frame) if as_view else frame)

    def declared(self, frame: bytes) -> Any:
        try:
            self.dispatcher.answer(self.connection, frame).send(None)
        except StopIteration as done:
            return b"".join(map(bytes, done.value))
        except (ProtocolViolation, CloseConnection) as error:
            return type(error)
        raise AssertionError("it waited")

    def ends(self, name: str) -> list[int]:
        topic = self.broker.services.topics.get(name)
        assert topic is not None
        return [
            end
            for partition in topic.partitions
            for end in (partition.log.log_end_offset, partition.high_watermark)
        ]

    def to_declared(self, data: bytes) -> bytes:
        """What names one topic, naming the other."""
        ids = self.ids[SHORT].bytes, self.ids[DECLARED].bytes
        return data.replace(SHORT.encode(), DECLARED.encode()).replace(*ids)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        properties = {"log.dirs": directory, "listeners": "PLAINTEXT://127.0.0.1:0"}
        yield Pair(stack.enter_context(Broker(BrokerConfig(properties))))


RECORDS = st.sampled_from(
    [
        *(batch(bytes(size)) for size in (0, 10, 50, 58, 59, 60, 200, 5000, 20_000)),
        batch(b"a", b"b", timestamp=-1),
        batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0),
        batch(b"x") * 2,
        batch(b"x")[:-1] + b"?",
        batch(b"x")[:40],
        b"",
        None,
    ]
)
FRAMES = st.fixed_dictionaries(
    {
        "version": st.integers(3, 13),
        "partitions": st.lists(
            st.tuples(st.integers(-1, PARTITIONS), RECORDS), min_size=0, max_size=2
        ).map(tuple)
        | st.tuples(st.tuples(st.integers(0, 1), RECORDS)),
        "acks": st.sampled_from([-1, 1, -1, 1, 0, 2]),
        "transactional_id": st.sampled_from([None, None, None, "t"]),
        "client_id": st.sampled_from([None, "", "test", "tést", "x" * 200]),
        "times": st.sampled_from([1, 1, 1, 2, 0]),
    }
)
CHANGES = st.none() | st.none() | st.tuples(st.integers(4, 80), st.integers(0, 255))


@settings(deadline=None, max_examples=600)
@given(request=FRAMES, change=CHANGES, as_view=st.booleans())
def test_it_is_equal_to_the_declared_way(
    pair: Pair, request: dict[str, Any], change: tuple[int, int] | None, as_view: bool
) -> None:
    frame = bytearray(pair.frame(SHORT, **request))
    if change is not None and change[0] < len(frame):
        frame[change[0]] = change[1]
    before = pair.ends(SHORT)
    assert before == pair.ends(DECLARED)
    answer: Any = pair.short(bytes(frame), as_view=as_view)
    if answer is None:
        assert pair.ends(SHORT) == before, "it had begun"
        answer = pair.declared(bytes(frame))
    other = pair.declared(pair.to_declared(bytes(frame)))
    assert (pair.to_declared(answer) if isinstance(answer, bytes) else answer) == other
    assert pair.ends(SHORT) == pair.ends(DECLARED)


@pytest.mark.parametrize("version", [9, 10, 11, 12, 13])
@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("size", [10, 100, 30_000, 500_000])
def test_it_is_taken_where_it_goes(pair: Pair, version: int, acks: int, size: int) -> None:
    for name in (SHORT, DECLARED):
        assert pair.short(pair.frame(name, version, ((1, batch(bytes(size))),), acks)) is not None


def test_it_is_not_taken_when_requests_are_measured(pair: Pair) -> None:
    measuring = Dispatcher(pair.broker.services, lambda api, handler: handler)
    frame = pair.frame(SHORT, 12, ((0, batch(b"x")),))
    assert measuring.straight(pair.connection, frame) is None
