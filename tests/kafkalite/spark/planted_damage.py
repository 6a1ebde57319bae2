"""Damage to a data directory, by the finding that must come of it."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.spark.sound_directory import (
    ORDERS,
    PAYMENTS,
    STAMPED,
    USERS,
    ZIPPED,
    batches,
    edit,
    overwrite,
    put,
    records,
    segments,
)

Damage = Callable[[Path], object]
PLANTED: list[tuple[str, str, Damage]] = []


def planted(kind: str) -> Callable[[Damage], Damage]:
    """Registers a kind of damage: the finding's name, and what makes it."""

    def register(damage: Damage) -> Damage:
        PLANTED.append((kind, damage.__name__, damage))
        return damage

    return register


# -- bytes


@planted("checksum")
def flipped_bit_in_a_value(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS)[0]
    overwrite(path, 200, bytes([path.read_bytes()[200] ^ 1]))


@planted("checksum")
def flipped_bit_in_a_header(data_dir: Path) -> None:
    edit(segments(data_dir, ORDERS)[1], 3, put(">q", 27, 5), crc=False)


@planted("torn-tail")
def last_batch_cut_short(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS)[-1]
    path.write_bytes(path.read_bytes()[:-7])


@planted("zeroed-tail")
def zeros_behind_the_log(data_dir: Path) -> None:
    path = segments(data_dir, STAMPED)[-1]
    path.write_bytes(path.read_bytes() + bytes(500))


@planted("cut-batch")
def older_segment_cut_short(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS)[0]
    path.write_bytes(path.read_bytes()[:-100])


@planted("batch-length")
def impossible_length(data_dir: Path) -> None:
    edit(segments(data_dir, ORDERS)[0], 4, put(">i", 8, 3))


@planted("batch-length")
def length_over_the_next_batch(data_dir: Path) -> None:
    edit(segments(data_dir, ORDERS)[0], 4, put(">i", 8, 10**6))


@planted("magic")
def old_format(data_dir: Path) -> None:
    edit(segments(data_dir, ORDERS)[0], 4, put(">b", 16, 1))


@planted("header")
def more_records_than_offsets(data_dir: Path) -> None:
    edit(segments(data_dir, STAMPED)[0], 1, put(">i", 57, 4))


# -- offsets


@planted("offset-gap")
def batch_removed(data_dir: Path) -> None:
    path = segments(data_dir, STAMPED)[0]
    kept = batches(path)
    del kept[2]
    path.write_bytes(b"".join(kept))


@planted("offset-overlap")
def batch_repeated(data_dir: Path) -> None:
    path = segments(data_dir, STAMPED)[0]
    all_batches = batches(path)
    path.write_bytes(b"".join([*all_batches[:3], *all_batches[2:]]))


@planted("segment-missing")
def segment_deleted(data_dir: Path) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        segments(data_dir, ORDERS, suffix)[1].unlink()


@planted("segment-name")
def segment_renamed(data_dir: Path) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        path = segments(data_dir, ORDERS, suffix)[1]
        path.rename(path.with_name(f"{105:020d}{suffix}"))


# -- records


@planted("compression")
def broken_zstd(data_dir: Path) -> None:
    edit(segments(data_dir, ZIPPED)[0], 4, put(">q", 70, -1))


@planted("compression")
def broken_gzip(data_dir: Path) -> None:
    edit(segments(data_dir, ZIPPED)[0], 1, put(">q", 80, -1))


@planted("records")
def records_do_not_add_up(data_dir: Path) -> None:
    edit(segments(data_dir, STAMPED)[0], 2, put(">b", 61, 2))


@planted("records")
def fewer_records_than_said(data_dir: Path) -> None:
    edit(segments(data_dir, STAMPED)[0], 2, put(">i", 57, 2))


@planted("record-offsets")
def records_out_of_order(data_dir: Path) -> None:
    def swap(_: bytearray) -> bytearray:
        some = [record._replace(offset=i) for i, record in zip((6, 8, 7), records(3), strict=True)]
        return bytearray(
            build_batch(
                some, base_offset=6, keep_offsets=True, last_offset=8, partition_leader_epoch=0
            )
        )

    edit(segments(data_dir, STAMPED)[0], 2, swap)


@planted("largest-timestamp")
def wrong_largest_timestamp(data_dir: Path) -> None:
    edit(segments(data_dir, PAYMENTS)[0], 0, put(">q", 35, 1_700_000_099_000))


@planted("time-goes-back")
def clock_went_back(data_dir: Path) -> None:
    edit(segments(data_dir, STAMPED)[0], 3, put(">q", 35, 1_500_000_000_000))


@planted("leader-epoch")
def epoch_goes_back(data_dir: Path) -> None:
    for number in (0, 1):
        edit(segments(data_dir, STAMPED)[0], number, put(">i", 12, 5 - number))


@planted("leader-epoch")
def epoch_is_not_that_of_the_checkpoint(data_dir: Path) -> None:
    (data_dir / "orders-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 150\n")


# -- producers and transactions


@planted("sequence-duplicate")
def batch_written_twice(data_dir: Path) -> None:
    edit(segments(data_dir, ORDERS)[1], 5, put(">i", 53, 140))


@planted("sequence-gap")
def records_of_a_producer_lost(data_dir: Path) -> None:
    edit(segments(data_dir, PAYMENTS)[0], 6, put(">i", 53, 100))


@planted("producer-epoch")
def producer_epoch_goes_back(data_dir: Path) -> None:
    edit(segments(data_dir, ORDERS)[1], 5, put(">h", 51, 3))


@planted("mixed-transaction")
def write_beside_a_transaction(data_dir: Path) -> None:
    path = segments(data_dir, PAYMENTS)[0]

    def join(batch: bytearray) -> bytearray:
        # The marker becomes data of another transaction's producer, outside the transaction.
        some = [Record(timestamp=1_700_000_000_000, value=b"beside")]
        return bytearray(
            build_batch(
                some,
                base_offset=struct.unpack_from(">q", batch)[0],
                producer_id=9,
                producer_epoch=0,
                base_sequence=5,
                partition_leader_epoch=0,
            )
        )

    edit(path, 1, join)


@planted("transaction-index")
def abort_is_not_in_the_index(data_dir: Path) -> None:
    segments(data_dir, PAYMENTS, ".txnindex")[0].unlink()


@planted("transaction-index")
def abort_that_never_was_in_the_index(data_dir: Path) -> None:
    path = segments(data_dir, PAYMENTS, ".txnindex")[0]
    path.write_bytes(path.read_bytes() + struct.pack(">hqqqq", 0, 9, 0, 5, 6))


# -- compaction


@planted("compaction")
def outdated_record_kept(data_dir: Path) -> None:
    def repeat(batch: bytearray) -> bytearray:
        base = struct.unpack_from(">q", batch)[0]
        some = [
            Record(base + i, 1_700_000_000_500, b"user-%d" % key, b"value")
            for i, key in enumerate((0, 1, 1, 3))
        ]
        return bytearray(
            build_batch(some, base_offset=base, keep_offsets=True, partition_leader_epoch=0)
        )

    edit(segments(data_dir, USERS)[0], -1, repeat)


@planted("null-key")
def record_without_a_key(data_dir: Path) -> None:
    def strip(batch: bytearray) -> bytearray:
        base = struct.unpack_from(">q", batch)[0]
        return bytearray(
            build_batch(
                [record._replace(key=None) for record in records(4)],
                base_offset=base,
                partition_leader_epoch=0,
            )
        )

    edit(segments(data_dir, USERS)[-1], -1, strip)


# -- files beside the log


@planted("index-missing")
def index_lost(data_dir: Path) -> None:
    segments(data_dir, ORDERS, ".index")[0].unlink()


@planted("index-size")
def index_cut(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS, ".index")[0]
    path.write_bytes(path.read_bytes()[:-3])


@planted("index-order")
def index_goes_back(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS, ".index")[0]
    data = path.read_bytes()
    path.write_bytes(data[8:16] + data[:8] + data[16:])


@planted("offset-index")
def index_entry_leads_nowhere(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS, ".index")[1]
    position = struct.unpack_from(">i", path.read_bytes(), 4)[0]
    overwrite(path, 4, struct.pack(">i", position + 3))


@planted("time-index")
def time_index_entry_is_wrong(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS, ".timeindex")[1]
    time_ms = struct.unpack_from(">q", path.read_bytes())[0]
    overwrite(path, 0, struct.pack(">q", time_ms - 1))


@planted("snapshot")
def snapshot_torn(data_dir: Path) -> None:
    path = segments(data_dir, ORDERS, ".snapshot")[0]
    path.write_bytes(path.read_bytes()[:-5])


@planted("snapshot")
def snapshot_of_another_log(data_dir: Path) -> None:
    source, target = (segments(data_dir, topic, ".snapshot")[-1] for topic in (PAYMENTS, ORDERS))
    target.write_bytes(source.read_bytes())


@planted("checkpoint")
def checkpoint_torn(data_dir: Path) -> None:
    path = data_dir / "recovery-point-offset-checkpoint"
    path.write_text(path.read_text()[:-20])


@planted("log-shortened")
def records_cut_off_the_end(data_dir: Path) -> None:
    path = segments(data_dir, STAMPED)[-1]
    path.write_bytes(b"".join(batches(path)[:-1]))


@planted("partition-metadata")
def topic_id_lost(data_dir: Path) -> None:
    (data_dir / "orders-0" / "partition.metadata").unlink()


@planted("topic-id")
def partition_of_another_topic(data_dir: Path) -> None:
    shutil.copy(
        data_dir / "orders-0" / "partition.metadata",
        data_dir / "two-partitions-1" / "partition.metadata",
    )
