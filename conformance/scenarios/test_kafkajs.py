"""KafkaJS, where node is there (`python -m conformance.prepare` brings KafkaJS itself)."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic

HERE = Path(__file__).parent
SECONDS = 60

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and (HERE.parent / "node_modules" / "kafkajs").is_dir()),
    reason="left out: KafkaJS (needs node and npm)",
)


def run(broker: Broker, scenario: str, topic: str) -> Any:
    answer = subprocess.run(
        ["node", str(HERE / "kafkajs.js"), broker.bootstrap, scenario, topic],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_what_is_produced_is_consumed(broker: Broker, create_topic: CreateTopic) -> None:
    seen = run(broker, "roundTrip", create_topic())
    assert [(s["key"], s["value"], s["headers"]) for s in seen[:3]] == [
        ("k", "plain", {"h": "1"}),
        (None, "no key", {}),
        ("tombstone", None, {}),
    ]
    assert [s["value"] for s in seen[3:]] == [f"zipped {i}" for i in range(100)]
    assert [s["offset"] for s in seen] == [str(i) for i in range(103)]


def test_a_group_goes_on_where_it_was(broker: Broker, create_topic: CreateTopic) -> None:
    assert [s["value"] for s in run(broker, "resume", create_topic())] == ["0", "1", "2", "3"]


def test_topics_configs_and_offsets(broker: Broker, topic: str) -> None:
    seen = run(broker, "admin", topic)
    assert seen["created"] is True
    assert seen["again"] is False
    assert sorted(seen["offsets"]) == [[0, "0", "0"], [1, "0", "1"], [2, "0", "0"]]
    # where nothing is that late, KafkaJS says the end
    assert sorted(seen["atTime"]) == [[0, "0"], [1, "0"], [2, "0"]]
    assert seen["retention"] == ["12345"]
    assert seen["brokers"] == 1
    assert seen["left"] is False
