"""The data that a test exports is a data directory of Apache Kafka's."""

import tarfile
from pathlib import Path

from conformance.storage.clients import commit, committed, create, producer, read
from conformance.storage.conftest import Start
from kafkalite.testing import broker


def test_apache_kafka_opens_what_is_exported(start: Start, tmp_path: Path) -> None:
    with broker() as k:
        create(k.bootstrap, "orders", partitions=2)
        sender = producer(k.bootstrap)
        for number in range(200):
            sender.produce("orders", key=f"k{number}", value=f"v{number}", partition=number % 2)
        assert sender.flush(30) == 0
        commit(k.bootstrap, "billing", "orders", 7)
        expected = [read(k.bootstrap, "orders", partition) for partition in range(2)]
        file = k.export(tmp_path / "data.tar")
        more = producer(k.bootstrap)
        more.produce("orders", value="later", partition=0)
        assert more.flush(30) == 0
    with tarfile.open(file) as packed:
        packed.extractall(tmp_path / "data", filter="data")
    kafka = start("kafka", tmp_path / "data")
    assert [read(kafka.bootstrap, "orders", partition) for partition in range(2)] == expected
    assert [len(rows) for rows in expected] == [100, 100]
    assert committed(kafka.bootstrap, "billing", "orders") == 7
