"""The replicas of a topic compared by Apache Kafka's own tools: over the network, and in the files.

kafka-replica-verification reads every replica up to its high watermark and compares checksums. It
never ends by itself. kafka-dump-log reads the segments of each replica, and says what is in them.
"""

from __future__ import annotations

import re
from pathlib import Path

from conformance.harness.apache_kafka import START_SECONDS, java_command
from conformance.harness.main_classes import MAIN_CLASSES
from conformance.harness.process import Process
from conformance.harness.quorum import QuorumCluster
from conformance.harness.tools import run_tool

_DIFFERS = re.compile(r"doesn't match|unmatched checksum|[Ee]xception|Error in processing")
_VERIFIED = re.compile(r"max lag is 0 for partition .* among (\d+) partitions")
_EARLIEST = "-2"


def verified_partitions(cluster: QuorumCluster, topic: str, directory: Path) -> int:
    """The number of partitions whose replicas are alike up to the high watermark, once no writes
    are under way.

    Raises AssertionError with what the tool said; DidNotStart if replicas do not become alike.
    """
    output = directory / "replica-verification"
    command = java_command(
        MAIN_CLASSES["kafka-replica-verification"],
        *("--broker-list", cluster.bootstrap, "--topics-include", topic, "--time", _EARLIEST),
        *("--report-interval-ms", "500", "--max-wait-ms", "100"),
    )
    process = Process(command, output)

    def has_verdict() -> bool:
        said = output.read_text()
        return bool(_VERIFIED.search(said) or _DIFFERS.search(said))

    try:
        process.wait_until(has_verdict, START_SECONDS)
    finally:
        process.kill()
    said = output.read_text()
    assert not _DIFFERS.search(said), said
    found = _VERIFIED.search(said)
    assert found is not None
    return int(found[1])


def differing_dumps(cluster: QuorumCluster, topic: str, partition_count: int) -> list[str]:
    """The partitions whose replicas are not alike to kafka-dump-log; all brokers have stopped.

    Raises AssertionError for a segment that it finds wrong.
    """
    return [
        name
        for name in (f"{topic}-{partition}" for partition in range(partition_count))
        if len({_dump(cluster.data(node_id) / name) for node_id in cluster.brokers}) > 1
    ]


def _dump(log: Path) -> tuple[str, ...]:
    """All batches and records of a replica's segments."""
    files = ",".join(str(path) for path in sorted(log.glob("*.log")))
    dumped = run_tool("kafka-dump-log", "--print-data-log", "--files", files)
    assert dumped.status == 0, dumped
    assert "isvalid: false" not in dumped.output
    lines = tuple(line for line in dumped.lines if str(log) not in line)
    assert any("payload: " in line for line in lines), dumped
    return lines
