"""The audit: silent about a sound directory, and it finds every kind of damage that is planted."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkalite.log.checkpoints import read_offsets, write_offsets
from kafkalite.log.files import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    Files,
)
from kafkalite.spark.audit import partitions
from kafkalite.spark.audit.auditing import Audit, gaps, judge, plan_audit
from kafkalite.spark.audit.findings import KINDS, Severity
from kafkalite.spark.audit.partitions import AuditTask
from kafkalite.spark.audit.report import write_report
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.testing import broker as test_broker
from kafkalite.wire.record_batch import Record
from tests.kafkalite.spark.planted_damage import PLANTED, Damage, flipped_bit_in_a_value
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
    records,
    segments,
)


def audited(data_dir: Path | tuple[Path, ...]) -> Audit:
    plan = plan_audit(data_dir)
    return judge(plan, [each for task in plan.tasks for each in task.run()])


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
    among_replicas = {"replica-differs"}
    assert {kind for kind, _, _ in PLANTED} == damage - among_replicas
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
    assert [each.is_held for each in result.directories] == [True]
    assert [each.kind for each in result.findings] == ["active-tail"]
    assert result.is_sound


def test_damage_under_a_broker_is_what_another_look_finds_too(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two reads the cleaner has put other files in place, and then says up to where."""
    monkeypatch.setattr(partitions, "_PAUSE_SECONDS", 0)
    [stopped] = [
        each
        for task in plan_audit(data_dir).tasks
        for each in task.replicas
        if (each.topic, each.partition) == (STAMPED, 0)
    ]
    sound = stopped._run()
    [log] = segments(data_dir, STAMPED)
    log.write_bytes(log.read_bytes()[:-1] + b"?")
    damaged = stopped._run()
    assert not sound[0].findings
    assert damaged[0].findings
    cleaned: list[int] = []
    looks: list[Any] = []
    replaced = object()

    def look(task: AuditTask) -> Any:
        cleaned.append(task.clean_up_to)
        write_offsets(Files(), data_dir / CLEANER_CHECKPOINT, {(task.topic, task.partition): 7})
        found = looks.pop(0)
        if isinstance(found, OSError):
            raise found
        if found is replaced:
            log.with_name("other").rename(log)
            return damaged
        return found

    monkeypatch.setattr(AuditTask, "_run", look)
    held = replace(stopped, is_held=True)
    looks += [damaged, FileNotFoundError(), sound]
    assert held.run() == sound
    assert cleaned == [0, 7, 7]
    looks += [damaged] * 3
    assert held.run() == damaged
    log.with_name("other").write_bytes(log.read_bytes())
    looks += [damaged, replaced, damaged, damaged]
    assert held.run() == damaged
    looks += [FileNotFoundError()] * 30
    with pytest.raises(PipelineError, match="changed while it was read; try again"):
        held.run()
    looks += [damaged]
    assert stopped.run() == damaged
    assert not looks


def test_an_open_transaction_is_a_note(tmp_path: Path) -> None:
    config = {"transaction.partition.verification.enable": False}
    with test_broker(config, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t")
        append(broker, "t", records(3), producer_id=3, sequence=0, is_transactional=True)
    result = audited(tmp_path / "data")
    assert [(each.kind, each.offset) for each in result.findings] == [("open-transaction", 0)]
    assert result.is_sound


@pytest.mark.parametrize("time_ms", [1 << 62, -(1 << 62)])
def test_a_time_that_spark_cannot_hold_is_a_note(tmp_path: Path, time_ms: int) -> None:
    """Producers that give nanoseconds for milliseconds make such: a broker may take them."""
    with test_broker(data_dir=tmp_path / "data") as broker:
        keep = {"retention.ms": -1, "message.timestamp.after.max.ms": 2**63 - 1}
        broker.create_topic(ORDERS, configs=keep)
        for some in (records(2), [Record(timestamp=time_ms, value=b"far")], records(3)):
            append(broker, ORDERS, some)
    result = audited(tmp_path / "data")
    assert result.is_sound
    [found] = [each for each in result.findings if each.kind == "timestamp-too-far"]
    assert (found.offset, found.severity) == (2, Severity.NOTE)
    assert result.partitions[0].records == 6


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


# -- a cluster of several directories


@pytest.fixture
def cluster(sound: Path, tmp_path: Path) -> tuple[Path, ...]:
    """Three replicas of everything."""
    paths = tuple(tmp_path / f"data-{number}" for number in (1, 2, 3))
    for path in paths:
        shutil.copytree(sound, path)
    return paths


def committed_up_to(data_dir: Path, topic: str, high_watermark: int) -> None:
    path = data_dir / HIGH_WATERMARK_CHECKPOINT
    offsets = read_offsets(Files(), path) | {(topic, 0): high_watermark}
    write_offsets(Files(), path, offsets)


def test_a_sound_cluster_has_no_finding(cluster: tuple[Path, ...], tmp_path: Path) -> None:
    shutil.rmtree(cluster[0] / "two-partitions-1")
    shutil.rmtree(cluster[1] / "two-partitions-0")  # each is somewhere
    result = audited(cluster)
    assert [str(each) for each in result.findings] == []
    assert result.extent == "19 replicas of 7 partitions"
    write_report(result, tmp_path / "report")
    table = pq.read_table(tmp_path / "report" / "partitions.parquet")
    assert set(table.column("data_dir").to_pylist()) == set(map(str, cluster))
    assert str(cluster[2]) in (tmp_path / "report" / "audit.html").read_text()


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_another_batch_in_one_replica_is_damage(cluster: tuple[Path, ...], changed: int) -> None:
    """Each directory for itself does not show it."""
    path = segments(cluster[changed], ORDERS)[1]
    edit(path, 3, lambda batch: overwritten(batch, b"000130", b"000131"))
    assert audited(cluster[changed]).is_sound
    result = audited(cluster)
    assert {(each.kind, each.offset) for each in result.damage} == {("replica-differs", 130)}
    if changed != 0:  # the first is what the others are compared with
        assert [each.data_dir for each in result.damage] == [str(cluster[changed])]


def overwritten(batch: bytearray, old: bytes, new: bytes) -> bytearray:
    assert batch.count(old) == 1
    return batch.replace(old, new)


def test_what_was_never_committed_may_differ(cluster: tuple[Path, ...]) -> None:
    """A leader that fell had written what nobody else got."""
    path = segments(cluster[1], ORDERS)[-1]
    edit(path, -1, lambda batch: overwritten(batch, b"000290", b"000291"))
    committed_up_to(cluster[1], ORDERS, 290)
    assert audited(cluster).findings == []
    committed_up_to(cluster[1], ORDERS, 300)
    assert not audited(cluster).is_sound


def test_a_replica_that_is_behind_is_a_note(cluster: tuple[Path, ...]) -> None:
    path = segments(cluster[2], STAMPED)[-1]
    path.write_bytes(b"".join(batches(path)[:-1]))
    (path,) = segments(cluster[2], STAMPED, ".timeindex")
    path.write_bytes(path.read_bytes()[:-12])  # the entry of that batch
    for name in (HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT):
        offsets = read_offsets(Files(), cluster[2] / name) | {(STAMPED, 0): 12}
        write_offsets(Files(), cluster[2] / name, offsets)
    result = audited(cluster)
    assert result.is_sound
    behind = [each for each in result.findings if each.kind == "replica-behind"]
    assert [(each.data_dir, each.offset) for each in behind] == [(str(cluster[2]), 12)]


def test_compaction_goes_on_in_each_replica_for_itself(cluster: tuple[Path, ...]) -> None:
    path = segments(cluster[1], USERS)[0]
    path.write_bytes(b"".join(batches(path)[1:]))
    assert "replica-differs" not in audited(cluster).counts
    (cluster[1] / CLEANER_CHECKPOINT).unlink()
    (cluster[0] / CLEANER_CHECKPOINT).unlink()
    assert "replica-differs" in audited(cluster).counts


def test_a_finding_names_the_directory(cluster: tuple[Path, ...]) -> None:
    (cluster[1] / RECOVERY_POINT_CHECKPOINT).write_text("nothing")
    flipped_bit_in_a_value(cluster[2])
    found = {(each.kind, each.data_dir) for each in audited(cluster).damage}
    assert found == {("checkpoint", str(cluster[1])), ("checksum", str(cluster[2]))}


def test_directories_of_several_clusters_are_refused(cluster: tuple[Path, ...]) -> None:
    path = cluster[1] / META_PROPERTIES
    path.write_text(path.read_text().replace("cluster.id=", "cluster.id=other"))
    with pytest.raises(PipelineError, match="different clusters") as error:
        audited(cluster)
    assert "\n" not in str(error.value)


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
