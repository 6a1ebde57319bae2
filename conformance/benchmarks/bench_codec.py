"""The time to parse and build hot messages, beside kio and kafka-python.

    python -m conformance.benchmarks.bench_codec

Microseconds. Each codec turns the same bytes of a body into its own typed message and back; a star
marks where kafkalite is not the fastest. "Its rows" are what the broker makes of requests of hot
APIs, and of its responses to them: tuples, in machine code in the compiled build. (kio has parsed
with an extension in machine code since 0.6.1. It builds in Python. wire/README.md has the figures.)
Then whole requests with their headers as a broker meets them, and what importing costs.
"""

from __future__ import annotations

import importlib
import io
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID

from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, encode_request, encode_response
from kafkalite.wire.compile_rows import RowBuilderWriter, RowParserWriter
from kafkalite.wire.compile_source import Mode
from kafkalite.wire.fields import Records
from kafkalite.wire.message_codec import build_body, join, parse_body
from kafkalite.wire.messages import (
    consumer_group_heartbeat,
    fetch,
    heartbeat,
    join_group,
    metadata,
    offset_commit,
    produce,
)
from kafkalite.wire.rows import rows_of
from kafkalite.wire.schema import Kind, message_of

TOPIC = "flights"
TOPIC_ID = UUID("7b0c1d3e-0f5c-4b5e-9d57-0b7f3a9f4c11")
MEMBER = "consumer-flights-1-7b0c1d3e-0f5c-4b5e-9d57-0b7f3a9f4c11"
BATCH = bytes(1000)
ROUNDS = 12


@dataclass(frozen=True)
class Sample:
    """A message in one version."""

    label: str
    body: Any
    version: int


def samples() -> Iterator[Sample]:
    for version in (9, 13):
        for count in (1, 10):
            yield Sample(f"Produce {version}, {count} partitions", produced(count), version)
            yield Sample(f"Produce {version}, {count} partitions", appended(count), version)
    for version in (12, 18):
        yield Sample(f"Fetch {version}, 10 partitions", asked(10), version)
        yield Sample(f"Fetch {version}, 10 partitions", fetched(10), version)
    topics = [metadata.MetadataRequestTopic(TOPIC_ID, TOPIC)]
    yield Sample("Metadata 12", metadata.MetadataRequest(topics), 12)
    yield Sample("Metadata 12", cluster(), 12)
    yield from groups()


def produced(count: int) -> produce.ProduceRequest:
    partitions = [produce.PartitionProduceData(index, BATCH) for index in range(count)]
    topic = produce.TopicProduceData(TOPIC, TOPIC_ID, partitions)
    return produce.ProduceRequest(None, -1, 30000, [topic])


def appended(count: int) -> produce.ProduceResponse:
    partitions = [
        produce.PartitionProduceResponse(index, 0, 1234567, -1, 0) for index in range(count)
    ]
    return produce.ProduceResponse([produce.TopicProduceResponse(TOPIC, TOPIC_ID, partitions)])


def asked(count: int) -> fetch.FetchRequest:
    partitions = [
        fetch.FetchPartition(index, 0, 1234567, -1, -1, 1 << 20) for index in range(count)
    ]
    topic = fetch.FetchTopic(TOPIC, TOPIC_ID, partitions)
    return fetch.FetchRequest(
        max_wait_ms=500, min_bytes=1, session_id=7, session_epoch=3, topics=[topic]
    )


def fetched(count: int) -> fetch.FetchResponse:
    partitions = [
        fetch.PartitionData(index, 0, 1234567, 1234567, 0, records=BATCH) for index in range(count)
    ]
    topic = fetch.FetchableTopicResponse(TOPIC, TOPIC_ID, partitions)
    return fetch.FetchResponse(session_id=7, responses=[topic])


def cluster() -> metadata.MetadataResponse:
    brokers = [metadata.MetadataResponseBroker(i, "127.0.0.1", 9091 + i, None) for i in (1, 2, 3)]
    partitions = [
        metadata.MetadataResponsePartition(0, i, i % 3 + 1, 0, [1, 2, 3], [1, 2, 3], [])
        for i in range(10)
    ]
    topic = metadata.MetadataResponseTopic(0, TOPIC, TOPIC_ID, False, partitions)
    return metadata.MetadataResponse(0, brokers, "kafkalite-cluster-0001", 1, [topic])


def groups() -> Iterator[Sample]:
    commit, joining, beat = offset_commit, join_group, consumer_group_heartbeat
    asked_offsets = [commit.OffsetCommitRequestPartition(i, 1234567, 0, "") for i in range(10)]
    commits = [commit.OffsetCommitRequestTopic(TOPIC, TOPIC_ID, asked_offsets)]
    done = [commit.OffsetCommitResponsePartition(i, 0) for i in range(10)]
    committed = [commit.OffsetCommitResponseTopic(TOPIC, TOPIC_ID, done)]
    protocols = [joining.JoinGroupRequestProtocol("range", bytes(40))]
    members = [joining.JoinGroupResponseMember(MEMBER, None, bytes(40)) for _ in range(3)]
    mine = [beat.TopicPartitions(TOPIC_ID, [0, 1, 2, 3])]
    for name, version, request, response in (
        (
            "OffsetCommit 9, 10 partitions",
            9,
            commit.OffsetCommitRequest("flights", 3, MEMBER, None, -1, commits),
            commit.OffsetCommitResponse(0, committed),
        ),
        (
            "Heartbeat 4",
            4,
            heartbeat.HeartbeatRequest("flights", 3, MEMBER),
            heartbeat.HeartbeatResponse(),
        ),
        (
            "JoinGroup 9",
            9,
            joining.JoinGroupRequest("flights", 45000, 300000, MEMBER, None, "consumer", protocols),
            joining.JoinGroupResponse(0, 0, 3, "consumer", "range", MEMBER, False, MEMBER, members),
        ),
        (
            "ConsumerGroupHeartbeat 1",
            1,
            beat.ConsumerGroupHeartbeatRequest("flights", MEMBER, 3, topic_partitions=None),
            beat.ConsumerGroupHeartbeatResponse(0, 0, None, MEMBER, 3, 5000, beat.Assignment(mine)),
        ),
    ):
        yield Sample(name, request, version)
        yield Sample(name, response, version)


# To parse and to build; None where it is not done.
Pair = tuple[Callable[[], Any] | None, Callable[[], Any] | None]


def ours(sample: Sample, data: bytes) -> Pair:
    class_, version = type(sample.body), sample.version
    parsed = parse_body(class_, version, data)
    assert join(build_body(parsed, version)) == data
    return lambda: parse_body(class_, version, data), lambda: build_body(parsed, version)


def of_rows(sample: Sample, data: bytes) -> Pair | None:
    """The tuples that the broker makes of requests of hot APIs, and responses that are tuples."""
    class_, version = type(sample.body), sample.version
    message = message_of(class_)
    api, flexible = APIS[ApiKey(message.key)], message.is_flexible(version)
    if not api.rows:
        return None
    if message.kind is Kind.REQUEST:
        parse = RowParserWriter(
            version, flexible=flexible, in_memoryview=False, mode=Mode.FAST
        ).compile(class_, whole=False)
        return lambda: parse(data, 0, len(data)), None
    build_row = RowBuilderWriter(version, flexible=flexible).compile(class_)
    row = rows_of(sample.body)

    def build() -> bytes:
        parts: list[bytes] = []
        chunks: list[Records] = []
        build_row(row, parts, chunks)
        return join([*chunks, b"".join(parts)])

    assert build() == data
    return None, build


def of_kafka_python(sample: Sample, data: bytes) -> Pair | None:
    from kafka.protocol import admin, consumer, metadata, producer

    name = type(sample.body).__name__
    packages = (admin, consumer, metadata, producer)
    class_: Any = next((getattr(each, name) for each in packages if hasattr(each, name)), None)
    if class_ is None:
        return None
    parsed = class_.decode(data, version=sample.version)
    parsed._header = None  # which it sets only on what it made itself
    assert bytes(parsed.encode()) == data
    return lambda: class_.decode(data, version=sample.version), lambda: parsed.encode()


def of_kio(sample: Sample, data: bytes) -> Pair:
    from kio.index import load_request_schema, load_response_schema
    from kio.serial import entity_reader, entity_writer

    message = message_of(type(sample.body))
    load = load_request_schema if message.kind is Kind.REQUEST else load_response_schema
    class_: Any = load(message.key, sample.version)
    read, write = entity_reader(class_), entity_writer(class_)
    parsed, _ = read(data, 0)

    def build() -> bytes:
        buffer = io.BytesIO()
        write(buffer, parsed)
        return buffer.getvalue()

    assert build() == data
    return lambda: read(data, 0), build


def microseconds(*functions: Callable[[], Any] | None) -> list[float | None]:
    """The best of each in processor time, taken in turns, so that a busy machine is unjust to
    none."""
    timers = [
        None if each is None else timeit.Timer(each, timer=time.thread_time) for each in functions
    ]
    counts = [0 if timer is None else timer.autorange()[0] // 20 + 1 for timer in timers]
    best = [float("inf")] * len(timers)
    for _ in range(ROUNDS):
        for index, timer in enumerate(timers):
            if timer is not None:
                took = timer.timeit(counts[index]) / counts[index]
                best[index] = min(best[index], took * 1e6)
    return [None if timer is None else each for timer, each in zip(timers, best, strict=True)]


def bodies() -> None:
    others: dict[str, Callable[[Sample, bytes], Pair | None]] = {"its rows": of_rows}
    for name, of in (("kio", of_kio), ("kafka-python", of_kafka_python)):
        try:
            importlib.import_module("kio" if name == "kio" else "kafka")
            others[name] = of
        except ImportError:
            print(f"({name} is not installed)")
    columns = ["kafkalite", *others]
    print(f"{'body':42} {'':6}" + "".join(f"{name:>14}" for name in columns))
    broker = [0.0] * len(columns)
    for sample in samples():
        data = join(build_body(sample.body, sample.version))
        kind = message_of(type(sample.body)).kind
        pairs = [ours(sample, data), *(of(sample, data) for of in others.values())]
        for index, verb in enumerate(("parse", "build")):
            figures = microseconds(*(None if pair is None else pair[index] for pair in pairs))
            shown = "".join(f"{'-' if each is None else f'{each:.2f}':>14}" for each in figures)
            own = figures[1] or figures[0] or 0
            slower = any(each is not None and each < own for each in figures[2:])
            label = f"{sample.label} {kind.value}"
            print(f"{label:42} {verb:6}{shown}{' *' if slower else ''}", flush=True)
            if (verb == "parse") == (kind is Kind.REQUEST) and None not in figures:
                broker = [
                    sum(each) for each in zip(broker, cast("list[float]", figures), strict=True)
                ]
    print(
        f"{'a broker: requests parsed, responses built':48} "
        + "".join(f"{e:14.2f}" for e in broker)
    )


def frames() -> None:
    print("\nwhole frames, header and all, as a broker meets them")
    for sample in samples():
        message = message_of(type(sample.body))
        if message.kind is Kind.REQUEST:
            request = encode_request(message.key, sample.version, 7, "consumer-1", sample.body)
            action = partial(decode_request, join(request)[4:])
        else:
            action = partial(encode_response, message.key, sample.version, 7, sample.body)
        print(f"{sample.label + ' ' + message.kind.value:48} {microseconds(action)[0]:14.2f}")


def imports() -> None:
    """Cold: a new interpreter each time."""
    print(
        f"\nmilliseconds for `kafkalite --version`: {start_ms('-m', 'kafkalite', '--version'):.0f}"
    )
    bare = start_ms("-c", "pass")
    print(f"milliseconds to import, on top of Python's own {bare:.0f}")
    for what in (
        "import kafkalite",
        "import construct",
        "from kafkalite.wire import codec",
        "from kafkalite.wire.messages import produce, fetch, metadata, api_versions",
    ):
        print(f"{what:76} {start_ms('-c', what) - bare:6.0f}")
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kafkalite", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line.split("|") for line in shown.stderr.splitlines() if "|" in line][1:]
    print("the ten most of `python -X importtime -m kafkalite --version`:")
    for own, _, name in sorted(rows, key=lambda row: -int(row[0].split(":")[-1]))[:10]:
        print(f"    {name.strip():40} {int(own.split(':')[-1]) / 1000:6.1f}")


def start_ms(*arguments: str) -> float:
    run = partial(
        subprocess.run, [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL
    )
    return statistics.median(timeit.timeit(run, number=1) * 1000 for _ in range(7))


if __name__ == "__main__":
    bodies()
    frames()
    imports()
