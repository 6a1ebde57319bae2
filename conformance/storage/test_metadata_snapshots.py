"""Our snapshots of the metadata, in the hands of Apache Kafka: its tools, and its broker."""

import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from conformance.harness.tools import run_tool
from conformance.storage.clients import SECONDS, create, read
from conformance.storage.conftest import Start

TOPIC_COUNT = 60
# Snapshots often, small segments, and away with what they make superfluous.
SNAPSHOTS = {
    "metadata_log_max_record_bytes_between_snapshots": "1000",
    "internal_metadata_log_segment_bytes": "8000",
    "metadata_max_retention_bytes": "0",
}


def ran(tool: str, *arguments: str) -> str:
    done = run_tool(tool, *arguments)
    assert done.status == 0, done
    return done.output


def shown(snapshot: Path, *paths: str) -> str:
    """The shell's output there. The shell waits until the file is read, not until it is loaded."""
    deadline = time.monotonic() + SECONDS
    while True:
        seen = ran("kafka-metadata-shell", "--snapshot", str(snapshot), "cat", *paths)
        if "No such file" not in seen:
            return seen
        assert time.monotonic() < deadline, seen


def newest_snapshot(directory: Path, after: str = "") -> Path:
    deadline = time.monotonic() + SECONDS
    while True:
        found = sorted(directory.glob("*.checkpoint"))
        if found and found[-1].name > after:
            return found[-1]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_kafkas_tools_and_broker_take_our_snapshots(start: Start) -> None:
    broker = start("kafkalite", **SNAPSHOTS)
    directory = broker.data_dir / "__cluster_metadata-0"
    create(broker.bootstrap, "kept", retention_ms="123456789")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce("kept", b"v")
    assert producer.flush(SECONDS) == 0
    first = newest_snapshot(directory)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    topics = [NewTopic(f"topic-{number}", 1, 1) for number in range(TOPIC_COUNT)]
    for begin in range(0, TOPIC_COUNT, 10):
        for made in admin.create_topics(topics[begin : begin + 10]).values():
            made.result(SECONDS)
    time.sleep(2)  # the next look whether a snapshot is due comes within a second
    snapshot = newest_snapshot(directory, first.name)
    create(broker.bootstrap, "after")
    broker.stop()
    # The log before the snapshot is gone: the snapshot alone tells of these topics.
    assert not (directory / f"{0:020d}.log").exists()

    records = ran("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(snapshot))
    assert '"type":"TOPIC_RECORD","version":0,"data":{"name":"kept"' in records
    assert records.count('"type":"PARTITION_RECORD"') == TOPIC_COUNT + 1
    assert "SnapshotHeader" in records
    assert "SnapshotFooter" in records
    assert "isvalid: false" not in records
    log = max(directory.glob("*.log"))
    records = ran("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(log))
    assert '"type":"TOPIC_RECORD","version":0,"data":{"name":"after"' in records

    seen = shown(
        snapshot, "/image/topics/byName/topic-7/0", "/image/configs/TOPIC:kept/retention.ms"
    )
    assert "replicas=[1]" in seen
    assert "123456789" in seen

    kafka = start("kafka", broker.data_dir)
    assert read(kafka.bootstrap, "kept")[0] is not None
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    names = set(admin.list_topics(timeout=SECONDS).topics)
    assert names >= {"kept", "after", *(topic.topic for topic in topics)}
    resource = ConfigResource(ResourceType.TOPIC, "kept")
    found = admin.describe_configs([resource])[resource].result(SECONDS)
    assert found["retention.ms"].value == "123456789"
    kafka.stop()

    back = start("kafkalite", kafka.data_dir)
    admin = AdminClient({"bootstrap.servers": back.bootstrap, "log_level": 0})
    assert set(admin.list_topics(timeout=SECONDS).topics) >= names
