"""The audit: silent about a sound directory, and it finds every kind of damage that is planted."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkalite.spark.audit.auditing import Audit, gaps, judge, plan_audit
from kafkalite.spark.audit.findings import KINDS, Severity
from kafkalite.spark.audit.partitions import AuditTask
from kafkalite.spark.audit.report import write_report
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.testing import broker as test_broker
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.spark.sound_directory import (
    ORDERS,
    PAYMENTS,
    STAMPED,
    USERS,
    ZIPPED,
    append,
    batches,
    edit,
    make_sound_directory,
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


def audited(data_dir: Path) -> Audit:
    plan = plan_audit(data_dir)
    return judge(plan, [AuditTask.run(task) for task in plan.tasks])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("sound") / "data"
    make_sound_directory(data_dir)
    return data_dir


@pytest.fixture
def data_dir(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "data")
    return tmp_path / "data"


def test_a_sound_directory_has_no_finding(sound: Path) -> None:
    result = audited(sound)
    assert [str(each) for each in result.findings] == []
    by_topic = {each.topic: each for each in result.partitions if each.partition == 0}
    assert by_topic[ORDERS].records == 300
    assert len(by_topic[ORDERS].segments) == 3
    assert (by_topic[PAYMENTS].committed, by_topic[PAYMENTS].aborted) == (3, 1)
    assert by_topic[USERS].records == 8
    assert by_topic[ZIPPED].segments[0].codecs == dict.fromkeys(range(5), 1)


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


@pytest.mark.parametrize(("kind", "name", "damage"), PLANTED, ids=[each[1] for each in PLANTED])
def test_damage_is_found(data_dir: Path, kind: str, name: str, damage: Damage) -> None:
    damage(data_dir)
    result = audited(data_dir)
    assert kind in {each.kind for each in result.damage}
    assert not result.is_sound


def test_every_kind_of_damage_was_planted() -> None:
    damage = {kind for kind, (severity, _) in KINDS.items() if severity is Severity.DAMAGE}
    assert {kind for kind, _, _ in PLANTED} == damage
    assert len(damage) >= 20


ALONE = {
    "flipped_bit_in_a_value": "checksum",
    "wrong_largest_timestamp": "largest-timestamp",
    "broken_zstd": "compression",
    "abort_is_not_in_the_index": "transaction-index",
    "outdated_record_kept": "compaction",
    "index_entry_leads_nowhere": "offset-index",
    "time_index_entry_is_wrong": "time-index",
    "snapshot_torn": "snapshot",
    "segment_deleted": "segment-missing",
}


@pytest.mark.parametrize("name", ALONE)
def test_damage_is_not_taken_for_other_damage(data_dir: Path, name: str) -> None:
    {each[1]: each[2] for each in PLANTED}[name](data_dir)
    assert {each.kind for each in audited(data_dir).damage} <= {
        ALONE[name],
        "sequence-gap",
        "time-index",
    }


def test_a_running_broker_is_no_damage(tmp_path: Path) -> None:
    with test_broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("t", configs={"index.interval.bytes": 100})
        for number in range(20):
            append(broker, "t", records(3, number))
        path = segments(tmp_path / "data", "t")[0]
        with path.open("ab") as file:  # as if it were writing
            file.write(bytes(batches(path)[0][:50]))
        result = audited(tmp_path / "data")
    assert result.is_held
    assert [each.kind for each in result.findings] == ["active-tail"]
    assert result.is_sound


def test_an_open_transaction_is_a_note(tmp_path: Path) -> None:
    config = {"transaction.partition.verification.enable": False}
    with test_broker(config, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t")
        append(broker, "t", records(3), producer_id=3, sequence=0, is_transactional=True)
    result = audited(tmp_path / "data")
    assert [(each.kind, each.offset) for each in result.findings] == [("open-transaction", 0)]
    assert result.is_sound


def test_the_report_can_be_read(data_dir: Path, tmp_path: Path) -> None:
    flipped_bit_in_a_value(data_dir)
    result = audited(data_dir)
    write_report(result, tmp_path / "report")
    table = pq.read_table(tmp_path / "report" / "findings.parquet")
    assert "checksum" in table.column("kind").to_pylist()
    assert pq.read_table(tmp_path / "report" / "partitions.parquet").num_rows == 7
    stored = json.loads((tmp_path / "report" / "audit.json").read_text())
    assert stored["sound"] is False
    assert stored["counts"] == result.counts
    page = (tmp_path / "report" / "audit.html").read_text()
    assert page.count("<svg") == 2
    assert "damaged" in page
    assert "checksum" in page


def test_what_is_no_data_directory_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(PipelineError, match="director") as error:
            audited(path)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["report-2024", "x-20000000"])
def test_a_folder_is_not_a_log_because_of_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "letter.txt").write_text("Dear log,")
    with pytest.raises(PipelineError, match="no data directory"):
        audited(tmp_path)


def test_such_a_folder_beside_logs_is_passed_over(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "data")
    (tmp_path / "data" / "report-2024").mkdir()
    result = audited(tmp_path / "data")
    assert result.is_sound
    assert "report" not in {each.topic for each in result.partitions}


def test_partitions_that_are_missing_are_told_in_ranges() -> None:
    assert gaps([0, 1, 2]) == []
    assert gaps([1, 3, 7]) == ["0", "2", "4-6"]
    assert gaps([20_000_000]) == ["0-19999999"]
