"""A data directory with something of everything, written by the broker; and ways to damage it."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path

from crc32c import crc32c

from kafkalite.log.append_info import AppendOrigin
from kafkalite.testing import broker as test_broker
from kafkalite.wire.compression import Compression
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches

NOW_MS = 1_700_000_000_000
ORDERS, STAMPED, ZIPPED, PAYMENTS, USERS = "orders", "stamped", "zipped", "payments", "users"


def make_sound_directory(data_dir: Path) -> None:
    """Closed cleanly, with several segments where it matters."""
    keep = {"retention.ms": -1, "index.interval.bytes": 1000}
    # Batches are appended as they are: no coordinator knows of their transactions.
    config = {"log.cleaner.backoff.ms": 10**9, "transaction.partition.verification.enable": False}
    with test_broker(config, data_dir=data_dir) as broker:
        for topic in (ORDERS, ZIPPED, PAYMENTS):
            broker.create_topic(topic, configs=keep)
        broker.create_topic(STAMPED, configs={**keep, "message.timestamp.type": "LogAppendTime"})
        broker.create_topic(USERS, configs={"cleanup.policy": "compact"})
        broker.create_topic("two-partitions", partitions=2, configs=keep)
        for number in range(30):
            append(broker, ORDERS, records(10, number), producer_id=7, sequence=10 * number)
            if number in (9, 19):
                broker._call(broker._partition(ORDERS, 0).log.roll)
        for _ in range(5):
            append(broker, STAMPED, records(3))
            time.sleep(0.002)  # the broker's clock counts milliseconds
        for codec in Compression:
            append(broker, ZIPPED, records(20), compression=codec)
        for number in range(4):
            append(
                broker,
                PAYMENTS,
                records(5),
                producer_id=9,
                sequence=5 * number,
                is_transactional=True,
            )
            marker = build_end_transaction_marker(
                producer_id=9,
                producer_epoch=0,
                commit=number != 2,
                coordinator_epoch=0,
                timestamp=NOW_MS,
            )
            put = broker._partition(PAYMENTS, 0).append
            broker._call(
                lambda put=put, marker=marker: put(marker, origin=AppendOrigin.COORDINATOR)
            )
        for number in range(6):
            append(broker, USERS, records(4, number, key=b"user-%d"))
        broker.clean_now()
        append(broker, USERS, records(4, 6, key=b"user-%d"))


def records(count: int, number: int = 0, key: bytes | None = None) -> list[Record]:
    return [
        Record(
            timestamp=NOW_MS + 100 * number + i,
            key=None if key is None else key % i,
            value=b"%06d" % (count * number + i) + b"x" * 100,
        )
        for i in range(count)
    ]


def append(
    broker: test_broker,
    topic: str,
    some: list[Record],
    *,
    producer_id: int = -1,
    sequence: int = -1,
    is_transactional: bool = False,
    compression: Compression = Compression.NONE,
) -> None:
    batch = build_batch(
        some,
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=sequence,
        is_transactional=is_transactional,
        compression=compression,
    )
    broker._call(lambda: broker._partition(topic, 0).append(batch))


# -- damage

HEADER = struct.Struct(">qiibIhiqqqhii")


def segments(data_dir: Path, topic: str, suffix: str = ".log") -> list[Path]:
    return sorted((data_dir / f"{topic}-0").glob(f"*{suffix}"))


def batches(path: Path) -> list[bytearray]:
    return [bytearray(batch.buffer) for batch in iterate_batches(path.read_bytes())]


def edit(
    path: Path, number: int, change: Callable[[bytearray], bytearray | None], *, crc: bool = True
) -> None:
    """Change a batch of a segment, and make its checksum right if told."""
    all_batches = batches(path)
    batch = all_batches[number]
    batch = change(batch) or batch
    if crc:
        struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    all_batches[number] = batch
    path.write_bytes(b"".join(all_batches))


def put(layout: str, position: int, value: int) -> Callable[[bytearray], None]:
    """A change that overwrites a number in a batch."""
    return lambda batch: struct.pack_into(layout, batch, position, value)


def overwrite(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)
