"""A data directory: whose it is, who holds it, what a restart finds."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.errors import DataDirectoryInUse, InconsistentDataDirectory
from kafkalite.log.files import FILES
from kafkalite.log.log import Log
from kafkalite.log.meta_properties import random_id, read_meta_properties
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch

NOW_MS = 1_700_000_000_000


def open_directory(path: Path, **options: Any) -> LogDirectory:
    options.setdefault("cluster_id", "c" * 22)
    return LogDirectory.open(path, node_id=1, now_ms=lambda: NOW_MS, **options)


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[LogDirectory]:
    directory = open_directory(path, **options)
    try:
        yield directory
    finally:
        directory.close()


def append(log: Log, value: bytes) -> None:
    log.append(build_batch([Record(timestamp=NOW_MS, value=value)]), leader_epoch=0)
    log.advance_high_watermark(log.log_end_offset)


def test_it_keeps_its_owner(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        directory_id = directory.directory_id
        assert len(directory_id) == 22
    with opened(tmp_path, cluster_id=None) as again:
        assert (again.cluster_id, again.directory_id) == ("c" * 22, directory_id)
    with pytest.raises(InconsistentDataDirectory, match="belongs to cluster"):
        open_directory(tmp_path, cluster_id=random_id())
    with pytest.raises(InconsistentDataDirectory, match="belongs to node 1"):
        LogDirectory.open(tmp_path, cluster_id=None, node_id=2, now_ms=lambda: NOW_MS)
    with opened(tmp_path):  # what was refused did not keep the lock
        pass


def test_kafkas_own_meta_properties_are_read(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "#\n#Fri Nov 21 09:00:00 UTC 2026\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\n"
        "directory.id=a\\=b\nnode.id=3\nversion=1\n"
    )
    properties = read_meta_properties(tmp_path, FILES)
    assert properties == ("MkU3OEVBNTcwNTJENDM2Qk", 3, "a=b")


@pytest.mark.parametrize("text", ["", "version=7\n", "version=1\nnode.id=x\n", "\xff"])
def test_meta_properties_that_say_nothing_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text, encoding="latin-1")
    with pytest.raises(InconsistentDataDirectory):
        open_directory(tmp_path)


def test_a_living_broker_keeps_others_out(tmp_path: Path) -> None:
    with opened(tmp_path):
        with pytest.raises(DataDirectoryInUse):
            open_directory(tmp_path)
        script = (
            "import sys; from pathlib import Path\n"
            "from kafkalite.log.directory import LogDirectory\n"
            "LogDirectory.open(Path(sys.argv[1]), cluster_id=None, node_id=1, now_ms=int)\n"
        )
        other = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert "DataDirectoryInUse" in other.stderr


def test_a_clean_restart_finds_everything(tmp_path: Path) -> None:
    topic_id = uuid.uuid4()
    with opened(tmp_path) as directory:
        assert not directory.was_clean_shutdown
        log = directory.open_log("orders", 2, LogConfig(), topic_id=topic_id)
        for i in range(5):
            append(log, b"%d" % i)
        log.delete_records_before(2)
    with opened(tmp_path) as directory:
        assert directory.was_clean_shutdown
        [stored] = directory.partitions()
        assert stored[:3] == ("orders", 2, topic_id)
        log = directory.open_log("orders", 2, LogConfig(), topic_id=topic_id)
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (2, 5, 5)
        assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_checkpoints_are_kafkas(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        log = directory.open_log("orders", 2, LogConfig())
        for _ in range(3):
            append(log, b"x")
        log.delete_records_before(1)
        log.flush()
        directory.checkpoint()
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 2 3\n"
        assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\norders 2 1\n"
        assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 2 3\n"


def test_a_damaged_checkpoint_loses_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n7\nt 0\n")
    with opened(tmp_path) as directory:
        assert directory.open_log("t", 0, LogConfig()).log_end_offset == 1


def test_another_topics_log_is_not_taken(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        directory.open_log("t", 0, LogConfig(), topic_id=uuid.uuid4())
        with pytest.raises(KafkaError) as caught:
            directory.open_log("t", 0, LogConfig(), topic_id=uuid.uuid4())
        assert caught.value.code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_deleted_log_is_gone_at_once_and_removed_later(tmp_path: Path) -> None:
    now = NOW_MS
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: now)
    log = directory.open_log("t", 0, LogConfig())
    append(log, b"x")
    records = log.read(0, 1000, upper_bound=1).records
    directory.delete_log("t", 0)
    assert not (tmp_path / "t-0").exists()
    assert directory.open_log("t", 0, LogConfig()).log_end_offset == 0
    assert not isinstance(records, bytes)
    assert len(records.read()) == len(records)
    records.close()
    list(directory.remove_deleted())
    assert [path.name.endswith("-delete") for path in tmp_path.glob("t-0.*")] == [True]
    now += 60_000
    list(directory.remove_deleted())
    assert list(tmp_path.glob("t-0.*")) == []
    with pytest.raises(KafkaError):
        log.append(b"", leader_epoch=0)
    directory.close()


def test_what_a_deletion_left_is_removed_at_the_start(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
        directory.delete_log("t", 0)
    with opened(tmp_path) as directory:
        assert directory.partitions() == []
        assert list(tmp_path.glob("t-0*")) == []


@pytest.mark.slow
def test_many_logs_stay_within_the_limit_on_descriptors(tmp_path: Path) -> None:
    open_files = OpenFiles(limit=50)
    with opened(tmp_path, open_files=open_files) as directory:
        logs = [directory.open_log("t", i, LogConfig()) for i in range(300)]
        for _ in range(2):
            for log in logs:
                append(log, b"x")
        assert len(open_files) <= 51
        assert [log.log_end_offset for log in logs] == [2] * 300
        assert not list((tmp_path / "t-0").glob("*.index"))
