"""The gain of the compiled build: `python -m conformance.benchmarks.machine_code`.

Two interpreters do the same work in turns: one has kafkalite in pure Python, the other compiled
(`make compiled`). Each row is CPU time in microseconds, the best of all rounds of each. A request's
time is that of the broker's thread, from its socket to its socket, with 16 in flight.

`--rows PREFIX` measures some rows. The output is the table of docs/compiled.md.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from conformance.benchmarks.load import request
from conformance.benchmarks.tiny import error_in
from conformance.harness.members import Requests, find_coordinators
from kafkalite.log.record_walk import REFUSED, walk
from kafkalite.testing import broker
from kafkalite.wire.api_codec import codec_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response
from kafkalite.wire.messages import fetch, list_offsets, metadata, offset_commit, produce
from kafkalite.wire.record_batch import HEADER_BYTES, Record, RecordBatch, build_batch
from kafkalite.wire.record_batch import iterate_records as records_of

TOPIC = "machine-code"
GROUP = "machine-code-readers"
PARTITIONS = 16
RECORDS = 1000
IN_FLIGHT = 16
REQUESTS = 1600
CALLS = 300

Work = Callable[[], Any]
Shape = tuple[ApiKey, int, Any]


def batch(records: int, size: int) -> bytes:
    value = bytes(size)
    return build_batch([Record(timestamp=1_000_000 + i, value=value) for i in range(records)])


def calls() -> Iterator[tuple[str, int, Work]]:
    """Functions of the room wire and log: name, units of work in a call, the call."""
    many = batch(RECORDS, 100)
    data = many[HEADER_BYTES:]

    def walked() -> None:
        assert walk(data, 0, RECORDS, 0, RECORDS, False) != REFUSED

    yield "record walk, a record of 100 B", RECORDS, walked
    one = RecordBatch(many)
    yield "records read, a record of 100 B", RECORDS, lambda: sum(1 for _ in records_of(one))
    yield "batch built, a record of 100 B", RECORDS, lambda: batch(RECORDS, 100)
    for name, (key, version, body) in shapes(UUID(int=1)).items():
        frame = request(key, version, body)[4:]
        parse = codec_of(key, version, rows=True).parse
        yield f"{name}: request parsed", 1, lambda parse=parse, frame=frame: parse(frame, 4)


def shapes(topic_id: UUID) -> dict[str, Shape]:
    """The requests, none of which has to wait."""
    small = batch(1, 10)
    return {
        "Produce 9, 1 partition": (ApiKey.PRODUCE, 9, produced(topic_id, 1, small)),
        "Produce 13, 16 partitions": (ApiKey.PRODUCE, 13, produced(topic_id, 16, small)),
        "Produce 9, 1000 records of 100 B": (
            ApiKey.PRODUCE,
            9,
            produced(topic_id, 1, batch(1000, 100)),
        ),
        "Fetch 12, 1 partition": (ApiKey.FETCH, 12, fetched(topic_id, 1)),
        "Fetch 17, 16 partitions": (ApiKey.FETCH, 17, fetched(topic_id, 16)),
        "ListOffsets 9": (ApiKey.LIST_OFFSETS, 9, listed()),
        "Metadata 12, 1 topic": (ApiKey.METADATA, 12, described()),
        "OffsetCommit 8, 1 partition": (ApiKey.OFFSET_COMMIT, 8, committed(1)),
        "OffsetCommit 8, 16 partitions": (ApiKey.OFFSET_COMMIT, 8, committed(16)),
    }


def produced(topic_id: UUID, partitions: int, records: bytes) -> produce.ProduceRequest:
    data = [produce.PartitionProduceData(index, records) for index in range(partitions)]
    return produce.ProduceRequest(
        None, -1, 30000, [produce.TopicProduceData(TOPIC, topic_id, data)]
    )


def fetched(topic_id: UUID, partitions: int) -> fetch.FetchRequest:
    asked = [
        fetch.FetchPartition(partition=index, partition_max_bytes=10) for index in range(partitions)
    ]
    topic = fetch.FetchTopic(topic=TOPIC, topic_id=topic_id, partitions=asked)
    return fetch.FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=1000, topics=[topic])


def listed() -> list_offsets.ListOffsetsRequest:
    partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = list_offsets.ListOffsetsTopic(name=TOPIC, partitions=[partition])
    return list_offsets.ListOffsetsRequest(topics=[topic])


def described() -> metadata.MetadataRequest:
    return metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)])


def committed(partitions: int) -> offset_commit.OffsetCommitRequest:
    """By a consumer without a group's protocol, which needs no member."""
    offsets = [
        offset_commit.OffsetCommitRequestPartition(index, 1234567, committed_metadata="")
        for index in range(partitions)
    ]
    topic = offset_commit.OffsetCommitRequestTopic(name=TOPIC, partitions=offsets)
    return offset_commit.OffsetCommitRequest(group_id=GROUP, topics=[topic])


class Client:
    """Sends one request again and again over one connection to a broker of this process."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))

    def response(self) -> bytes:
        data = self.socket.recv(4, socket.MSG_WAITALL)
        return self.socket.recv(int.from_bytes(data, "big"), socket.MSG_WAITALL)

    def check(self, key: ApiKey, version: int, frame: bytes) -> None:
        """Ask once, and assert that nothing in the response is an error."""
        self.socket.sendall(frame)
        answered = self.response()
        _, message = decode_response(key, version, answered)
        assert not error_in(message), message

    def microseconds(self, frame: bytes) -> float:
        """The CPU time of a request in every thread but this one."""
        frames = frame * IN_FLIGHT
        rounds = REQUESTS // IN_FLIGHT if len(frame) < 10_000 else 5
        began, here = time.process_time(), time.thread_time()
        for _ in range(rounds):
            self.socket.sendall(frames)
            for _ in range(IN_FLIGHT):
                self.response()
        there = (time.process_time() - began) - (time.thread_time() - here)
        return there / (rounds * IN_FLIGHT) * 1e6


@contextmanager
def started() -> Iterator[tuple[str, UUID]]:
    with broker() as b:
        b.create_topic(TOPIC, PARTITIONS)
        with Requests(b.bootstrap) as connection:
            find_coordinators(connection, [GROUP])
        yield b.bootstrap, b.topic_id(TOPIC)


def measures(prefix: str) -> Iterator[tuple[str, Callable[[], float]]]:
    """Every row, and the function that measures it once, in microseconds."""
    for name, units, work in calls():
        if name.startswith(prefix):
            yield name, lambda work=work, units=units: microseconds(work, units)


def microseconds(work: Work, units: int) -> float:
    rounds = max(1, CALLS // units)
    began = time.thread_time()
    for _ in range(rounds):
        work()
    return (time.thread_time() - began) / rounds / units * 1e6


def work_for(parent_in: Any, parent_out: Any, prefix: str) -> None:
    """Measure every row once for each line that the parent sends."""
    with started() as (bootstrap, topic_id):
        client = Client(bootstrap)
        client_rows: list[tuple[str, bytes]] = []
        records = batch(1, 10)
        seed = request(ApiKey.PRODUCE, 9, produced(topic_id, PARTITIONS, records))
        client.check(ApiKey.PRODUCE, 9, seed)
        for name, (key, version, body) in shapes(topic_id).items():
            if name.startswith(prefix):
                frame = request(key, version, body)
                client.check(key, version, frame)
                client_rows.append((name, frame))
        for _ in parent_in:
            row = {name: measure() for name, measure in measures(prefix)}
            row |= {name: client.microseconds(frame) for name, frame in client_rows}
            print(json.dumps(row), file=parent_out, flush=True)


class Side:
    """One of the two interpreters, with its best figures so far."""

    def __init__(self, python: str, prefix: str) -> None:
        command = [python, "-m", "conformance.benchmarks.machine_code", "--work", "--rows", prefix]
        # The compiled package must not be hidden by the sources in this folder.
        environment = {**os.environ, "PYTHONSAFEPATH": "1"} if "compiled" in python else None
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.best: dict[str, float] = {}

    def measure(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for name, figure in json.loads(self.process.stdout.readline()).items():
            self.best[name] = min(self.best.get(name, figure), figure)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pure", default=".venv/bin/python", metavar="PYTHON")
    parser.add_argument("--compiled", default=".venv-compiled/bin/python", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--rows", default="", metavar="PREFIX")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.work:
        work_for(sys.stdin, sys.stdout, chosen.rows)
        return 0
    sides = Side(chosen.pure, chosen.rows), Side(chosen.compiled, chosen.rows)
    for _ in range(chosen.rounds):
        for side in sides:
            side.measure()
    pure, compiled = (side.best for side in sides)
    print("| CPU microseconds | pure Python | compiled | gain |\n|---|--:|--:|--:|")
    for name, before in pure.items():
        after = compiled[name]
        print(f"| {name} | {before:.2f} | {after:.2f} | {before / after:.2f} |")
    for side in sides:
        side.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
