"""Data directories made of chosen batches. Without pyarrow (the extra `spark`) nothing is
collected."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.checkpoints import write_offsets
from kafkalite.log.config import LogConfig
from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    Files,
)
from kafkalite.log.log import Log
from kafkalite.log.opening import open_log
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.spark.filled_topic import BATCH, BATCHES, PARTITION

if importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("numpy") is None:
    collect_ignore_glob = ["test_*.py"]

TOPIC = "topic"


@dataclass
class DataDirectory:
    """A data directory with one log, topic-0, written by the log itself."""

    path: Path
    config: LogConfig = field(default_factory=LogConfig)
    log: Log = field(init=False)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / META_PROPERTIES).write_text("version=1\ncluster.id=c\nnode.id=1\n")
        self.log = open_log(self.path / f"{TOPIC}-0", self.config, now_ms=lambda: 1_700_000_000_000)

    def append(self, *batches: bytes) -> None:
        """Batches with their offsets in them."""
        for batch in batches:
            self.log.append_as_follower(batch)
        self.log.advance_high_watermark(self.log.log_end_offset)

    def records(self, *values: bytes | None, **fields: Any) -> None:
        """One batch at the log's end."""
        made = [Record(timestamp=1_700_000_000_000, value=value) for value in values]
        self.append(build_batch(made, base_offset=self.log.log_end_offset, **fields))

    def transaction(self, producer_id: int, *values: bytes, commit: bool | None) -> None:
        """A batch of a transaction, and its marker; None: it stays open."""
        at = {"producer_id": producer_id, "producer_epoch": 0}
        sequence = self.log.log_end_offset
        self.records(*values, base_sequence=sequence, is_transactional=True, **at)
        if commit is not None:
            self.mark(producer_id, commit=commit)

    def mark(self, producer_id: int, *, commit: bool) -> None:
        marker = build_end_transaction_marker(
            producer_id=producer_id,
            producer_epoch=0,
            commit=commit,
            coordinator_epoch=0,
            timestamp=1_700_000_000_000,
            base_offset=self.log.log_end_offset,
        )
        self.append(marker)

    def stop(self) -> Path:
        """The directory as a broker that was stopped leaves it."""
        self.checkpoint(self.log.high_watermark)
        self.log.close()
        (self.path / CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":-1}')
        return self.path

    def kill(self, recovery_point: int = 0) -> Path:
        """The directory as a killed broker leaves it: what it wrote, and an old recovery point."""
        for segment in self.log.segments:
            segment.write_indexes()
        write_offsets(Files(), self.path / RECOVERY_POINT_CHECKPOINT, {(TOPIC, 0): recovery_point})
        self.log.close_files()
        return self.path

    def checkpoint(self, high_watermark: int) -> None:
        write_offsets(Files(), self.path / HIGH_WATERMARK_CHECKPOINT, {(TOPIC, 0): high_watermark})


@pytest.fixture
def data_directory(tmp_path: Path) -> Iterator[Callable[..., DataDirectory]]:
    made: list[DataDirectory] = []

    def make(**config: Any) -> DataDirectory:
        directory = DataDirectory(tmp_path / f"data-{len(made)}", LogConfig(**config))
        made.append(directory)
        return directory

    yield make
    for directory in made:
        directory.log.close_files()


def batch_of(records: Iterable[Record], **fields: Any) -> bytes:
    """A batch whose records keep their own offsets."""
    kept = list(records)
    return build_batch(kept, base_offset=kept[0].offset, keep_offsets=True, **fields)


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker with the topic of filled_topic.py, for all tests of a module."""
    from kafkalite.spark.client import Client  # needs numpy

    with broker() as started:
        with Client(started.bootstrap) as client:
            client.create_topic("t", 1)
            for _ in range(BATCHES):
                client.produce(PARTITION, BATCH)
        yield started.bootstrap


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[ApiKey]:
    """The requests to the broker, as they are sent."""
    from kafkalite.spark.connection import Connection  # needs numpy

    found: list[ApiKey] = []
    real = Connection._send

    def send(self: Connection, api_key: ApiKey, version: int, body: object) -> object:
        found.append(api_key)
        return real(self, api_key, version, body)

    monkeypatch.setattr(Connection, "_send", send)
    return found
