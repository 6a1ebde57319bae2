"""kcat: in most distributions an older librdkafka, which asks for other versions."""

import json
import shutil
import subprocess

import pytest

from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic

SECONDS = 30

pytestmark = pytest.mark.skipif(
    shutil.which("kcat") is None, reason="left out: kcat (apt-get install kcat)"
)


def kcat(broker: Broker, *arguments: str, given: str = "") -> str:
    answer = subprocess.run(
        ["kcat", "-b", broker.bootstrap, "-m", "20", *arguments],
        input=given,
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(broker: Broker, create_topic: CreateTopic, codec: str) -> None:
    topic = create_topic()
    lines = [f"key{i}:value {i} " + "x" * 100 for i in range(200)]
    kcat(broker, "-P", "-t", topic, "-z", codec, "-K", ":", given="\n".join(lines) + "\n")
    assert kcat(broker, "-C", "-t", topic, "-e", "-q", "-K", ":").splitlines() == lines


def test_headers_and_offsets(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic()
    kcat(broker, "-P", "-t", topic, "-H", "a=1", "-H", "b=2", given="x\ny\n")
    printed = kcat(broker, "-C", "-t", topic, "-e", "-q", "-J", "-o", "1")
    (record,) = [json.loads(line) for line in printed.splitlines()]
    assert (record["offset"], record["payload"], record["key"]) == (1, "y", None)
    assert record["headers"] == ["a", "1", "b", "2"]


def test_metadata(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=2)
    seen = json.loads(kcat(broker, "-L", "-J"))
    assert [b["name"] for b in seen["brokers"]] == [broker.bootstrap]
    (found,) = [t for t in seen["topics"] if t["topic"] == topic]
    assert [(p["partition"], p["leader"]) for p in found["partitions"]] == [(0, 1), (1, 1)]


def test_offsets_for_times(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic()
    kcat(broker, "-P", "-t", topic, given="x\n")
    # the latest is -1 when asked by time, the earliest is -2
    assert kcat(broker, "-Q", "-t", f"{topic}:0:-1").strip() == f"{topic} [0] offset 1"
    assert kcat(broker, "-Q", "-t", f"{topic}:0:1000").strip() == f"{topic} [0] offset 0"


def test_a_group(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=3)
    lines = [str(i) for i in range(30)]
    kcat(broker, "-P", "-t", topic, given="\n".join(lines) + "\n")
    options = ("-q", "-c", "30", "-X", "auto.offset.reset=earliest")
    printed = kcat(broker, *options, "-G", f"{topic}-group", topic)
    assert sorted(printed.splitlines()) == sorted(lines)
