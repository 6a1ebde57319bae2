"""Three data directories under each broker: where replicas may be moved, and what is said of
them."""

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.tools import run_tool
from conformance.storage.clients import SECONDS, producer, read
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkalite.wire.messages.describe_log_dirs import DescribeLogDirsRequest

LONG = "l" * 249


def disk(side: Side, number: int) -> str:
    return str(side.broker.data_dir.parent / f"disk-{number}")


def sibling(path: str, side: Side) -> str:
    """A path beside the first disk."""
    return disk(side, 1).removesuffix("disk-1") + path


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    kinds = {"kafka": ApacheKafka, "kafkalite": Kafkalite}
    brokers: list[Broker] = []
    for kind, start in kinds.items():
        home = tmp_path / kind
        disks = ",".join(
            str((home / "node-1" if kind == "kafka" else home) / f"disk-{i}") for i in range(3)
        )
        brokers.append(start(home, {"log.dirs": disks}))
    pair = Pair(*map(Side, brokers))
    yield pair
    for side in (pair.reference, pair.tested):
        side.close()
        side.broker.kill()


def move(pair: Pair, path: Callable[[Side], str], topic: str, *partitions: int) -> list[int]:
    """Ask both; they must say the same."""

    def request(side: Side) -> AlterReplicaLogDirsRequest:
        moves = [AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
        return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path(side), topics=moves)])

    _, answer = pair.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request)
    return [each.error_code for each in answer.results[0].partitions]


def described(side: Side) -> dict[str, Any]:
    """The contents of each disk, `None` for a broken one. The long topic may lie anywhere."""
    answer = side.ask(ApiKey.DESCRIBE_LOG_DIRS, 4, DescribeLogDirsRequest(topics=None))
    return {
        Path(result.log_dir).name: None
        if result.error_code
        else sorted(
            (
                topic.name,
                each.partition_index,
                each.partition_size > 0,
                each.offset_lag,
                each.is_future_key,
            )
            for topic in result.topics
            for each in topic.partitions
            if topic.name != LONG
        )
        for result in answer.results
    }


def until_both(pair: Pair, condition: Callable[[dict[str, Any]], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    for side in (pair.reference, pair.tested):
        while not condition(described(side)):
            assert time.monotonic() < deadline, (side.broker.kind, described(side))
            time.sleep(0.05)


def test_replicas_move_as_by_kafka(pair: Pair) -> None:
    # Asked for before there is such a topic: refused, and remembered.
    for topic in ("t", "u", LONG):
        move(pair, lambda side: disk(side, 1), topic, 0)
    for topic in ("t", "u", LONG):
        pair.create_topic(topic)
    until_both(pair, lambda disks: ("t", 0, False, 0, False) in disks["disk-1"])
    for side in (pair.reference, pair.tested):
        sender = producer(side.broker.bootstrap)
        sender.produce("t", value="x", partition=0)
        assert sender.flush(SECONDS) == 0
    for path, topic, partitions in (
        ("nowhere", "t", [0]),
        ("disk-2/", "t", [0]),
        ("disk-2", "nothing", [0]),
        ("disk-2", LONG, [0]),
        ("disk-1", "t", [0]),
        ("disk-2", "t", [0, 7]),
        ("disk-2", "u", [0]),
    ):
        move(pair, partial(sibling, path), topic, *partitions)
    until_both(pair, lambda disks: ("t", 0, True, 0, False) in disks["disk-2"])
    until_both(pair, lambda disks: ("u", 0, False, 0, False) in disks["disk-2"])
    shown = [described(side) for side in (pair.reference, pair.tested)]
    assert shown[0] == shown[1]

    for side in (pair.reference, pair.tested):
        side.broker.stop()
        (Path(disk(side, 1)) / "meta.properties").parent.rename(disk(side, 1) + "-gone")
        Path(disk(side, 1)).write_text("not a directory")
        side.broker.start()
        side.close()
    for number, topic in ((1, "t"), (0, "t"), (2, "t")):
        codes = move(pair, partial(disk, number=number), topic, 0)
        assert codes == [0 if number == 2 else 56]
    until_both(pair, lambda disks: disks["disk-1"] is None)


def test_kafkas_tools_move_replicas(tmp_path: Path) -> None:
    home = tmp_path / "kafka" / "node-1"
    home.mkdir(parents=True)
    disks = [str(home / "data"), str(home / "more")]
    slow = {"replica.alter.log.dirs.io.max.bytes.per.second": "1000"}  # for ever
    broker = Kafkalite(tmp_path, {"log.dirs": ",".join(disks), **slow})
    try:
        sender = producer(broker.bootstrap, batch_num_messages=10)
        for _ in range(1000):
            sender.produce("t", value=bytes(1000), partition=0)
        assert sender.flush(SECONDS) == 0
        (here,) = (path for path in disks if (Path(path) / "t-0").exists())
        (there,) = {*disks} - {here}
        plan = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": [there]}
        file = tmp_path / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": [plan]}))
        where = ("--bootstrap-server", broker.bootstrap)
        arguments = (*where, "--reassignment-json-file", str(file))
        ran = run_tool("kafka-reassign-partitions", *arguments, "--execute")
        assert f"log directory to {there} for replica t-0 with broker 1" in ran.output, ran
        ran = run_tool("kafka-log-dirs", *where, "--describe", "--topic-list", "t")
        shown = {
            each["logDir"]: [
                (p["partition"], p["isFuture"], p["offsetLag"] > 0) for p in each["partitions"]
            ]
            for each in json.loads(ran.lines[-1])["brokers"][0]["logDirs"]
        }
        assert shown == {here: [("t-0", False, False)], there: [("t-0", True, True)]}
        broker.properties.update(dict.fromkeys(slow, "1000000000"))
        broker.kill()
        broker.start()
        deadline = time.monotonic() + SECONDS
        while not (Path(there) / "t-0").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        ran = run_tool("kafka-reassign-partitions", *arguments, "--verify")
        assert "completed successfully" in ran.output, ran
        expected = read(broker.bootstrap, "t")
        broker.stop()
        # And Apache Kafka finds it where it is now.
        kafka = ApacheKafka(tmp_path / "kafka", {"log.dirs": ",".join(disks)})
        try:
            assert len(expected) == 1000
            assert read(kafka.bootstrap, "t") == expected
        finally:
            kafka.kill()
    finally:
        broker.kill()
