"""A data directory seen from outside: its logs, and up to where they may be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.log.checkpoints import read_offsets, write_offsets
from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    Files,
)
from kafkalite.spark import data_directory as one_directory
from kafkalite.spark import segment_files
from kafkalite.spark.data_directory import (
    Bounds,
    StoredPartition,
    bounds,
    check_is_data_directory,
    is_held,
    list_partitions,
    log_start_offset,
    partition_directory,
    trusted_until,
)
from kafkalite.spark.errors import (
    NotADataDirectory,
    UnknownTopic,
)
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory
from tests.kafkalite.spark.read_rows import Make, values


def test_a_killed_brokers_log_ends_with_its_last_whole_batch(data_directory: Make) -> None:
    directory = data_directory()
    directory.records(b"whole")
    directory.records(b"cut short")
    path = directory.kill()
    [segment] = segment_files.list_segments(path / f"{TOPIC}-0")
    data = segment.path.read_bytes()
    for torn in (data[:-1], data[: len(data) - 30], data[:-1] + b"x", data[:75] + b"\0" * 400):
        segment.path.write_bytes(torn)
        assert bounds(path, TOPIC, 0) == Bounds(0, 1)
        assert values(path) == [b"whole"]


def test_a_held_directory_is_read_up_to_its_high_watermark(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.records(b"seen")
    directory.records(b"not yet replicated")
    directory.checkpoint(1)
    held = LogDirectory.open(directory.path, cluster_id=None, node_id=1, now_ms=lambda: 0)
    try:
        assert is_held(directory.path)
        assert values(directory.path) == [b"seen"]
    finally:
        held.close()
        directory.log.close_files()
    assert not is_held(directory.path)


def test_what_is_no_data_directory_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotADataDirectory, match="is no directory"):
        list_partitions(tmp_path / "nothing")
    with pytest.raises(NotADataDirectory, match="is no data directory"):
        list_partitions(tmp_path)
    path = DataDirectory(tmp_path / "data").stop()
    # A broker writes this when it makes a log, before there is a segment.
    metadata = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
    (path / f"{TOPIC}-0" / "partition.metadata").write_text(metadata)
    assert [(each.topic, each.partition) for each in list_partitions(path)] == [(TOPIC, 0)]
    with pytest.raises(UnknownTopic, match="has no partition 3 of topic 'topic'"):
        bounds(path, TOPIC, 3)
    assert values(path) == []


def test_kafkas_own_topics_are_listed_and_the_metadata_log_is_not(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.records(b"v")
    path = directory.stop()
    for name in ("__consumer_offsets-7", "__cluster_metadata-0", "a-b-2"):
        (path / name).mkdir()
        (path / name / f"{0:020}.log").touch()
    (path / "report-2024").mkdir()  # a name alone is not enough
    assert list_partitions(path) == [
        StoredPartition("__consumer_offsets", 7, path / "__consumer_offsets-7"),
        StoredPartition("a-b", 2, path / "a-b-2"),
        StoredPartition(TOPIC, 0, path / f"{TOPIC}-0"),
    ]
    check_is_data_directory(path)
    assert partition_directory(path, "a-b", 2) == path / "a-b-2"


def test_deleted_records_are_not_read(data_directory: Make) -> None:
    directory = data_directory()
    directory.records(b"a", b"b", b"c")
    path = directory.stop()
    assert log_start_offset(path, TOPIC, 0) == 0
    write_offsets(Files(), path / LOG_START_OFFSET_CHECKPOINT, {(TOPIC, 0): 2})
    assert bounds(path, TOPIC, 0) == Bounds(2, 3)
    assert values(path) == [b"c"]


def test_indexes_are_trusted_unless_a_crash_is_unrepaired(data_directory: Make) -> None:
    stopped, killed = data_directory(), data_directory()
    for each in (stopped, killed):
        each.records(b"a", b"b")
    assert trusted_until(stopped.stop(), TOPIC, 0) is None
    assert trusted_until(killed.kill(recovery_point=1), TOPIC, 0) == 1


def test_a_checkpoint_that_is_broken_is_as_none(data_directory: Make) -> None:
    directory = data_directory()
    directory.records(b"a")
    path = directory.stop()
    (path / HIGH_WATERMARK_CHECKPOINT).write_text("0\nmany\n")
    assert bounds(path, TOPIC, 0) == Bounds(0, 1)


def test_a_checkpoint_is_read_once_until_it_is_another(
    data_directory: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names every partition, and each of thousands asks for it."""
    directory = data_directory()
    directory.records(b"a", b"b")
    path = directory.stop()
    reads: list[Path] = []

    def counted(files: Files, file: Path) -> dict[tuple[str, int], int]:
        reads.append(file)
        return read_offsets(files, file)

    monkeypatch.setattr(one_directory, "read_offsets", counted)
    for end in (2, 1, 2):
        write_offsets(Files(), path / HIGH_WATERMARK_CHECKPOINT, {(TOPIC, 0): end})
        del reads[:]
        assert [bounds(path, TOPIC, 0) for _ in range(3)] == [Bounds(0, end)] * 3
        assert reads.count(path / HIGH_WATERMARK_CHECKPOINT) == 1


def test_one_partition_is_looked_for_alone(
    data_directory: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = data_directory()
    directory.records(b"a")
    path = directory.stop()
    (path / "u-0").mkdir()
    looked: list[Path] = []
    monkeypatch.setattr(one_directory, "_holds_log", lambda each: looked.append(each) or True)
    assert list_partitions(path, (TOPIC, 0)) == [StoredPartition(TOPIC, 0, path / f"{TOPIC}-0")]
    assert looked == [path / f"{TOPIC}-0"]
