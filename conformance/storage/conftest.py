"""A broker's data directory, copied under another broker."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite

# Small segments, cleaned at once: by whoever has `log.cleaner.enable`.
PROPERTIES = {"log.cleaner.backoff.ms": "50", "log.initial.task.delay.ms": "100"}

Start = Callable[..., Broker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start("kafka", data_dir)`: that broker, on a copy of the directory (or a new one)."""
    started: list[Broker] = []

    def begin(kind: str, data_dir: Path | None = None, **properties: str) -> Broker:
        directory = tmp_path / f"{kind}-{len(started)}"
        home = directory if kind == "kafkalite" else directory / "node-1"
        if data_dir is not None:
            shutil.copytree(data_dir, home / "data")
        names = {name.replace("_", "."): value for name, value in properties.items()}
        kinds = {"kafkalite": Kafkalite, "kafka": ApacheKafka}
        broker: Broker = kinds[kind](directory, {**PROPERTIES, **names})
        started.append(broker)
        return broker

    yield begin
    for broker in started:
        broker.kill()
