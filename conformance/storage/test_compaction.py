"""The same log to Kafka's cleaner and to ours: the same records stay."""

import random
import shutil
import time
from pathlib import Path

import pytest

from conformance.storage.clients import SECONDS, create, producer
from conformance.storage.conftest import Start
from kafkalite.log.checkpoints import read_offsets
from kafkalite.log.cleaner import Cleaner
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import FILES
from kafkalite.wire.records import iterate_batches, iterate_records

Survivor = tuple[int, bytes | None, bytes | None]
COMPACT = {
    "cleanup_policy": "compact",
    "segment_bytes": "1048576",
    "min_cleanable_dirty_ratio": "0.01",
}


def survivors(directory: Path) -> list[Survivor]:
    """Every record in the segments' files, control records too."""
    found: list[Survivor] = []
    for path in sorted(directory.glob("*.log")):
        for batch in iterate_batches(path.read_bytes()):
            assert batch.is_valid()
            found += [
                (record.offset, record.key, record.value) for record in iterate_records(batch)
            ]
    return found


def fill(bootstrap: str, codec: str) -> None:
    """Four segments: keys again and again, tombstones, transactions of both endings between them."""
    create(bootstrap, "t", **COMPACT)
    plain = producer(bootstrap, compression_type=codec, enable_idempotence=True)
    sender = producer(bootstrap, compression_type=codec, transactional_id="one")
    sender.init_transactions(SECONDS)
    chance = random.Random(7)  # for bytes that no codec makes smaller
    for i in range(40):
        for j in range(30):
            value = None if (i + j) % 11 == 0 else b"%d.%d" % (i, j) + chance.randbytes(5000)
            plain.produce("t", key=b"key-%d" % ((i * 7 + j) % 90), value=value, partition=0)
        assert plain.flush(SECONDS) == 0
        if i % 4 == 1:
            sender.begin_transaction()
            for j in range(5):
                sender.produce(
                    "t",
                    key=b"key-%d" % (i + j),
                    value=b"%d" % i + chance.randbytes(5000),
                    partition=0,
                )
            sender.flush(SECONDS)
            sender.commit_transaction() if i % 8 == 1 else sender.abort_transaction()


def clean_here(data_dir: Path, node_id: int) -> None:
    """Run our cleaner over the directory until it has nothing to do."""
    directory = LogDirectory.open(
        data_dir,
        cluster_id=None,
        node_id=node_id,
        now_ms=lambda: time.time_ns() // 1_000_000,
    )
    config = LogConfig(
        cleanup_policy=("compact",), segment_bytes=1 << 20, min_cleanable_dirty_ratio=0.01
    )
    log = directory.open_log("t", 0, config)
    log.advance_high_watermark(log.log_end_offset)
    cleaner = Cleaner([directory])
    rounds = 0
    while cleaner.next_cleanable() is not None:
        for step in cleaner.clean():
            if step.work is not None:
                step.work()
        rounds += 1
    assert rounds == 1
    directory.close()


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_the_same_records_survive(start: Start, tmp_path: Path, codec: str) -> None:
    kafka = start("kafka", log_cleaner_enable="false")
    fill(kafka.bootstrap, codec)
    kafka.stop()
    before = survivors(kafka.data_dir / "t-0")
    ours = tmp_path / "ours"
    shutil.copytree(kafka.data_dir, ours)

    cleaning = start("kafka", kafka.data_dir, log_cleaner_enable="true")
    checkpoint = cleaning.data_dir / "cleaner-offset-checkpoint"
    active = max(int(path.stem) for path in (kafka.data_dir / "t-0").glob("*.log"))
    deadline = time.monotonic() + SECONDS
    while read_offsets(FILES, checkpoint).get(("t", 0), 0) < active:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    cleaning.stop()
    expected = survivors(cleaning.data_dir / "t-0")

    clean_here(ours, node_id=1)
    assert survivors(ours / "t-0") == expected
    assert 90 <= len(expected) < len(before) / 2
