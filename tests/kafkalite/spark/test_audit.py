"""The audit: silent about a sound directory, and it finds every kind of damage that is planted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkalite.spark.audit.auditing import Audit, gaps, judge, plan_audit
from kafkalite.spark.audit.findings import KINDS, Severity
from kafkalite.spark.audit.partitions import AuditTask
from kafkalite.spark.audit.report import write_report
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.testing import broker as test_broker
from tests.kafkalite.spark.planted_damage import PLANTED, Damage, flipped_bit_in_a_value
from tests.kafkalite.spark.sound_directory import (
    ORDERS,
    PAYMENTS,
    USERS,
    ZIPPED,
    append,
    batches,
    make_sound_directory,
    records,
    segments,
)


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
