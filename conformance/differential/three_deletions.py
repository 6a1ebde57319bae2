"""DeleteRecords among three brokers of one kind, then of the other: whom its answer waits for.

`python -m conformance.differential.three_deletions` asks while all live, while a replica stands
still, once it goes on, and once another is dead. Low watermarks and errors must be equal, and
answers come at once or after timeout.ms on both sides. Takes about a minute.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from conformance.benchmarks.topics import Client
from conformance.differential.three_nodes import PATIENT, SETTLED_SECONDS
from conformance.differential.three_processes import KINDS
from conformance.differential.wait_ready import assigned_topic
from conformance.harness.quorum import QuorumCluster
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_topics import CreateTopicsRequest
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

RECORD_COUNT = 20
TIMEOUT_MS = 2000
# An action, the broker that it is done to, and the offset that is asked for then.
STEPS = [
    ("", 0, 4),
    ("pause", 3, 7),
    ("resume", 3, 7),
    ("", 0, -1),
    ("kill", 2, 2),
    ("start", 2, 21),
]  # fmt: skip

# Low watermark, error code, and whether it took as long as it was given.
Answer = tuple[int, int, bool]


def run(kind: str) -> list[Answer]:
    """The answers after each step."""
    first = KINDS[kind]
    with tempfile.TemporaryDirectory() as directory:
        counts = {"kafka": 0, "kafkalite": 0} | {kind: 3}
        cluster = QuorumCluster(Path(directory), properties=PATIENT, **counts)
        try:
            client = Client(f"127.0.0.1:{cluster.brokers[first + 1]}")
            fill(client, [first + 1, first + 2, first + 3])
            answers: list[Answer] = []
            for action, node_id, offset in STEPS:
                if action:
                    getattr(cluster, action)(first + node_id)
                if action in ("resume", "kill", "start"):
                    time.sleep(SETTLED_SECONDS)
                answers.append(deleted(client, offset))
                print(f"{kind}: {action} {node_id or ''} {offset}: {answers[-1]}", flush=True)
            client.close()
            return answers
        finally:
            cluster.close()


def fill(client: Client, replicas: list[int]) -> None:
    body = CreateTopicsRequest(topics=[assigned_topic("t", [replicas], {})], timeout_ms=10_000)
    answer = client.ask(ApiKey.CREATE_TOPICS, 7, body)
    assert answer.topics[0].error_code == 0, answer
    # A record that was answered with an error may have been written.
    while end_offset(client) < RECORD_COUNT:
        client.produce(answer.topics[0].topic_id, b"v")


def end_offset(client: Client) -> int:
    """The offset behind the last record; -1 while nobody leads."""
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    body = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[partition])])
    answer = client.ask(ApiKey.LIST_OFFSETS, 7, body)
    return int(answer.topics[0].partitions[0].offset)


def deleted(client: Client, offset: int) -> Answer:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    body = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[partition])], timeout_ms=TIMEOUT_MS
    )
    began = time.monotonic()
    answer = client.ask(ApiKey.DELETE_RECORDS, 2, body).topics[0].partitions[0]
    has_waited = time.monotonic() - began >= TIMEOUT_MS / 1000
    return answer.low_watermark, answer.error_code, has_waited


def main() -> int:
    theirs, ours = run("kafka"), run("kafkalite")
    differences = 0
    for step, expected, found in zip(STEPS, theirs, ours, strict=True):
        if expected != found:
            differences += 1
            print(f"{step}: {expected}, kafkalite: {found}")
    print(f"{len(STEPS)} answers: {differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
