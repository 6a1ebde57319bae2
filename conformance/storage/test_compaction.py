"""The same log to Kafka's cleaner and to ours: the same records stay."""

import random
import shutil
import time
from pathlib import Path

from conformance.storage.clients import SECONDS, create, producer
from conformance.storage.conftest import Start
from kafkalite.log.checkpoints import read_offsets
from kafkalite.log.cleaner import Cleaner
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import run_steps
from kafkalite.log.files import CLEANER_CHECKPOINT, FILES
from kafkalite.wire.record_batch import COMPRESSION_MASK, iterate_batches, iterate_records

# Offset, timestamp, key, value, codec of its batch.
Survivor = tuple[int, int, bytes | None, bytes | None, int]
# The producer's codec and the topic's.
CODECS = [
    ("none", "producer"),
    ("gzip", "producer"),
    ("snappy", "producer"),
    ("lz4", "producer"),
    ("zstd", "producer"),
    ("zstd", "uncompressed"),
    ("none", "zstd"),
]
NAMES = [f"{codec}-{topic_codec}" for codec, topic_codec in CODECS]
COMPACT = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": "60000",
    "min_cleanable_dirty_ratio": "0.01",
}


def survivors(directory: Path) -> list[Survivor]:
    """Every record in the segments' files, control records too."""
    found: list[Survivor] = []
    for path in sorted(directory.glob("*.log")):
        for batch in iterate_batches(path.read_bytes()):
            assert batch.is_valid()
            found += [
                (
                    record.offset,
                    record.timestamp,
                    record.key,
                    record.value,
                    batch.attributes & COMPRESSION_MASK,
                )
                for record in iterate_records(batch)
            ]
    return found


def fill(bootstrap: str, name: str, codec: str, topic_codec: str) -> None:
    """Four segments: keys again and again, tombstones, transactions of both endings between
    them."""
    create(bootstrap, name, **COMPACT, compression_type=topic_codec)
    plain = producer(bootstrap, compression_type=codec, enable_idempotence=True)
    sender = producer(bootstrap, compression_type=codec, transactional_id=name)
    sender.init_transactions(SECONDS)
    chance = random.Random(7)  # for bytes that no codec makes smaller
    for i in range(28):
        for j in range(30):
            value = None if (i + j) % 11 == 0 else b"%d.%d" % (i, j) + chance.randbytes(250)
            plain.produce(name, key=b"key-%d" % ((i * 7 + j) % 90), value=value, partition=0)
        assert plain.flush(SECONDS) == 0
        if i % 4 == 1:
            sender.begin_transaction()
            for j in range(5):
                sender.produce(
                    name,
                    key=b"key-%d" % (i + j),
                    value=b"%d" % i + chance.randbytes(250),
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
        cleanup_policy=("compact",), segment_bytes=60_000, min_cleanable_dirty_ratio=0.01
    )
    for name in NAMES:
        log = directory.open_log(name, 0, config)
        log.advance_high_watermark(log.log_end_offset)
    cleaner = Cleaner([directory])
    run_steps(cleaner.clean_all())
    assert len(read_offsets(FILES, data_dir / CLEANER_CHECKPOINT)) == len(NAMES)
    directory.close()


def test_the_same_records_survive(start: Start, tmp_path: Path) -> None:
    kafka = start("kafka", log_cleaner_enable="false")
    for name, codecs in zip(NAMES, CODECS, strict=True):
        fill(kafka.bootstrap, name, *codecs)
    kafka.stop()
    before = {name: survivors(kafka.data_dir / f"{name}-0") for name in NAMES}
    ours = tmp_path / "ours"
    shutil.copytree(kafka.data_dir, ours)

    cleaning = start("kafka", kafka.data_dir, log_cleaner_enable="true")
    checkpoint = cleaning.data_dir / "cleaner-offset-checkpoint"
    deadline = time.monotonic() + SECONDS
    for name in NAMES:
        active = max(int(path.stem) for path in (kafka.data_dir / f"{name}-0").glob("*.log"))
        while read_offsets(FILES, checkpoint).get((name, 0), 0) < active:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    cleaning.stop()

    clean_here(ours, node_id=1)
    for name in NAMES:
        expected = survivors(cleaning.data_dir / f"{name}-0")
        assert survivors(ours / f"{name}-0") == expected, name
        assert 90 <= len(expected) < len(before[name]) / 2
