"""Frames of Produce, Fetch and what asks about topics: made anew for each sample, as sequences and
sessions only go forward."""

from __future__ import annotations

import itertools
import random
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import TIMESTAMP, ask, creation
from conformance.benchmarks.shapes import Shape
from conformance.benchmarks.tiny import error_in
from conformance.harness.broker import Broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import (
    add_partitions_to_txn,
    end_txn,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)
from kafkalite.wire.record_batch import Record, build_batch

# A client that wants no answers asks something that has one after so many.
UNANSWERED: Final = 16
# More frames than a sample can send: a sequence of each partition, an epoch of each session.
MOST_FRAMES: Final = 48_000
# Bytes that the generator of load takes (load.c).
MOST_BYTES: Final = 5 << 28
# At the most, around the records of a partition, and around a record.
_BYTES_AROUND: Final = 160
_BYTES_AROUND_RECORD: Final = 16
_TOPIC_ID_VERSION: Final = {"produce": 13, "fetch": 13, "offset_commit": 10, "offset_fetch": 10}
_BY_KEYS: Final = 4
# A topic takes so many times as long as a small request.
_FRAMES_OF_A_TOPIC: Final = 24
_LOADED_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Frames:
    """Requests to be sent. `each` frames belong to each connection; 0: they all share them."""

    frames: Sequence[bytes]
    each: int = 0
    # Requests per answer: more than one where acks=0 has no answer of its own.
    per_answer: int = 1
    # Topics that the requests may create.
    topics: Sequence[str] = ()


@dataclass(frozen=True)
class Topics:
    """The topics of a shape on one broker."""

    broker: Broker
    names: Sequence[str]
    ids: Sequence[uuid.UUID]
    most_frames: int = MOST_FRAMES

    def of(self, shape: Shape) -> list[dict[str, Any]]:
        """The topics as a request names them: by id where its version does, else by name."""
        if shape.version >= _TOPIC_ID_VERSION.get(shape.api, 99):
            return [{"topic_id": topic_id} for topic_id in self.ids]
        field = "topic" if shape.api == "fetch" else "name"
        return [{field: name} for name in self.names]


def one_frame(shape: Shape, body: Any) -> Frames:
    """The same request again and again."""
    return Frames([request(ApiKey[shape.api.upper()], shape.version, body)])


def _produce(shape: Shape, topics: Topics) -> Frames:
    if shape.producer == "plain":
        frames = [_produce_frame(shape, topics, None, 0)]
        if shape.acks != 0:
            return Frames(frames)
        asked = _list_offsets(Shape("list_offsets", 7), topics)
        return Frames([*(frames * UNANSWERED), *asked.frames], 0, UNANSWERED + 1)
    each = frames_of_each(shape, topics.most_frames)
    frames: list[bytes] = []
    for _ in range(shape.connections):
        producer = Producer.new(shape, topics)
        made = [_produce_frame(shape, topics, producer, n * shape.records) for n in range(each)]
        frames += made if shape.acks else _with_questions(made, topics)
    if shape.acks:
        return Frames(frames, each)
    return Frames(frames, len(frames) // shape.connections, UNANSWERED + 1)


def frames_of_each(shape: Shape, most_frames: int) -> int:
    """The frames of each connection: no more than a sample can send, and than the load takes."""
    wanted = max(most_frames // shape.connections // (shape.topics * shape.partitions), 200)
    # After frames without an answer comes a question about the same partitions.
    size = most_frame_bytes(shape) + _BYTES_AROUND * shape.topics * shape.partitions
    return min(wanted, MOST_BYTES // shape.connections // size)


def most_frame_bytes(shape: Shape) -> int:
    """The size of a Produce of this shape at the most."""
    records = shape.records * (shape.record_bytes + _BYTES_AROUND_RECORD)
    return shape.topics * shape.partitions * (records + _BYTES_AROUND) + _BYTES_AROUND


def _with_questions(made: list[bytes], topics: Topics) -> list[bytes]:
    """After UNANSWERED frames comes one that is answered."""
    question = _list_offsets(Shape("list_offsets", 7), topics).frames[0]
    whole = len(made) // UNANSWERED * UNANSWERED
    parts = [made[start : start + UNANSWERED] for start in range(0, whole, UNANSWERED)]
    return [frame for part in parts for frame in (*part, question)]


@dataclass(frozen=True)
class Producer:
    """A producer with an id; in a transaction that has all partitions if it is transactional."""

    transactional_id: str | None
    producer_id: int
    epoch: int

    @staticmethod
    def new(shape: Shape, topics: Topics) -> Producer:
        is_transactional = shape.producer == "transactional"
        name = f"shape-{uuid.uuid4().hex}" if is_transactional else None
        if name is not None:
            wait_for_coordinator(topics.broker, name, kind=1)
        body = init_producer_id.InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=600_000
        )
        made = ask_until_loaded(topics.broker, ApiKey.INIT_PRODUCER_ID, 4, body)
        producer = Producer(name, made.producer_id, made.producer_epoch)
        if name is not None:
            producer.begin(shape, topics)
        return producer

    def begin(self, shape: Shape, topics: Topics) -> None:
        """Add all partitions to the transaction."""
        body = self.adding(shape, topics)
        ask_until_loaded(topics.broker, ApiKey.ADD_PARTITIONS_TO_TXN, 3, body)

    def adding(self, shape: Shape, topics: Topics) -> Any:
        """The request to add all partitions, as clients send it."""
        wanted = [
            add_partitions_to_txn.AddPartitionsToTxnTopic(
                name=name, partitions=list(range(shape.partitions))
            )
            for name in topics.names
        ]
        return add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id or "",
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=wanted,
        )

    def end(self, topics: Topics, version: int, *, commit: bool) -> Any:
        """End the transaction, and wait until all of it is; the request."""
        body = end_txn.EndTxnRequest(
            transactional_id=self.transactional_id or "",
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        for _ in range(2):  # the second answer comes when the markers are written
            ask_until_loaded(topics.broker, ApiKey.END_TXN, version, body)
        return body


def abort_transactions(shape: Shape, topics: Topics) -> None:
    """Transactions of the number that the shape says, each with a record in every partition."""
    written = Shape("produce", 11, shape.topics, shape.partitions, producer="transactional")
    for _ in range(shape.aborted):
        producer = Producer.new(written, topics)
        body = _produce_request(written, topics, producer, 0)
        ask_until_loaded(topics.broker, ApiKey.PRODUCE, written.version, body)
        producer.end(topics, 3, commit=False)


def _produce_frame(shape: Shape, topics: Topics, producer: Producer | None, sequence: int) -> bytes:
    body = _produce_request(shape, topics, producer, sequence)
    return request(ApiKey.PRODUCE, shape.version, body)


def _produce_request(shape: Shape, topics: Topics, producer: Producer | None, sequence: int) -> Any:
    key = b"key" if shape.compacted else None
    records = [Record(0, TIMESTAMP, key, b"x" * shape.record_bytes, [])] * shape.records
    if producer is None:
        batch = build_batch(records)
    else:
        batch = build_batch(
            records,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            is_transactional=producer.transactional_id is not None,
        )
    partitions = [
        produce.PartitionProduceData(index=index, records=batch)
        for index in range(shape.partitions)
    ]
    return produce.ProduceRequest(
        transactional_id=None if producer is None else producer.transactional_id,
        acks=shape.acks,
        timeout_ms=5000,
        topic_data=[
            produce.TopicProduceData(**named, partition_data=partitions)
            for named in topics.of(shape)
        ],
    )


def _fetch_request(shape: Shape, topics: Topics, session: tuple[int, int]) -> Any:
    partitions = [
        fetch.FetchPartition(partition=index, partition_max_bytes=100)
        for index in range(shape.partitions)
    ]
    named = topics.of(shape) if session[0] == 0 else []
    return fetch.FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1_000_000,
        isolation_level=1 if shape.read_committed else 0,
        session_id=session[0],
        session_epoch=session[1],
        topics=[fetch.FetchTopic(**each, partitions=partitions) for each in named],
    )


def _fetch(shape: Shape, topics: Topics) -> Frames:
    if not shape.in_session:
        return one_frame(shape, _fetch_request(shape, topics, (0, -1)))
    each = max(topics.most_frames // shape.connections // max(shape.partitions // 4, 1), 200)
    frames: list[bytes] = []
    for _ in range(shape.connections):
        first = _fetch_request(shape, topics, (0, 0))
        session_id = ask(topics.broker.bootstrap, ApiKey.FETCH, shape.version, first).session_id
        assert session_id != 0, "no session"
        frames += [
            request(ApiKey.FETCH, shape.version, _fetch_request(shape, topics, (session_id, epoch)))
            for epoch in range(1, each + 1)
        ]
    return Frames(frames, each)


def _metadata(shape: Shape, topics: Topics) -> Frames:
    """Topics in an order that no one asked for before."""
    luck = random.Random(uuid.uuid4().int)
    if shape.all_topics:
        return one_frame(shape, metadata.MetadataRequest(topics=None))
    if shape.topics > 1:
        count = max(topics.most_frames // shape.topics, 50)
        asked = [tuple(luck.sample(topics.names, shape.topics)) for _ in range(count)]
    else:
        asked = list(itertools.islice(itertools.permutations(topics.names, 3), topics.most_frames))
        luck.shuffle(asked)
    return Frames(
        [
            request(
                ApiKey.METADATA,
                shape.version,
                metadata.MetadataRequest(
                    topics=[metadata.MetadataRequestTopic(name=name) for name in names]
                ),
            )
            for names in asked
        ]
    )


def list_offsets_request(shape: Shape, topics: Topics) -> Any:
    """The ends of all partitions."""
    partitions = [
        list_offsets.ListOffsetsPartition(partition_index=index, timestamp=-1)
        for index in range(shape.partitions)
    ]
    return list_offsets.ListOffsetsRequest(
        replica_id=-1,
        topics=[
            list_offsets.ListOffsetsTopic(name=name, partitions=partitions) for name in topics.names
        ],
    )


def _list_offsets(shape: Shape, topics: Topics) -> Frames:
    return one_frame(shape, list_offsets_request(shape, topics))


def find_request(version: int, name: str, kind: int) -> Any:
    """The question for a coordinator; `kind` 0: of a group, 1: of a transactional id."""
    if version >= _BY_KEYS:
        return find_coordinator.FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
    return find_coordinator.FindCoordinatorRequest(key=name, key_type=kind)


def wait_for_coordinator(broker: Broker, name: str, kind: int) -> None:
    """Ask until there is one, and with it the internal topic."""
    ask_until_loaded(broker, ApiKey.FIND_COORDINATOR, 4, find_request(4, name, kind))


def ask_until_loaded(broker: Broker, api_key: ApiKey, version: int, body: Any) -> Any:
    """The answer, as soon as it has no error: a coordinator that is new has to load first."""
    deadline = time.monotonic() + _LOADED_SECONDS
    while True:
        answered = ask(broker.bootstrap, api_key, version, body)
        if not error_in(answered):
            return answered
        assert time.monotonic() < deadline, answered
        time.sleep(0.05)


def _find_coordinator(shape: Shape, topics: Topics) -> Frames:
    name = f"shape-{uuid.uuid4().hex}"
    wait_for_coordinator(topics.broker, name, kind=0)
    return one_frame(shape, find_request(shape.version, name, 0))


def _create_topics(shape: Shape, topics: Topics) -> Frames:
    """Topics that are not there yet, each by a request of its own."""
    each = max(topics.most_frames // shape.connections // _FRAMES_OF_A_TOPIC, 10)
    names = [f"shape-{uuid.uuid4().hex}" for _ in range(each * shape.connections)]
    frames = [
        request(ApiKey.CREATE_TOPICS, shape.version, creation([name], shape.partitions))
        for name in names
    ]
    return Frames(frames, each, topics=names)


FRAMES: Final[dict[str, Callable[[Shape, Topics], Frames]]] = {
    "produce": _produce,
    "fetch": _fetch,
    "metadata": _metadata,
    "list_offsets": _list_offsets,
    "find_coordinator": _find_coordinator,
    "create_topics": _create_topics,
}
