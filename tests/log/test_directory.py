"""A data directory: its owner, its logs, and a restart that finds them."""

import errno
import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.errors import DataDirectoryInUse, InconsistentDataDirectory
from kafkalite.log.files import Files
from kafkalite.log.meta_properties import random_id
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.directories import NOW_MS, append, open_directory, opened


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


@pytest.mark.parametrize("go", [LogDirectory.set_aside, LogDirectory.discard])
def test_a_log_that_went_and_came_again_has_its_topic_id(
    tmp_path: Path, go: Callable[[LogDirectory, Path], object]
) -> None:
    topic_id = uuid.uuid4()
    with opened(tmp_path) as directory:
        directory.open_log("t", 0, LogConfig(), topic_id=topic_id)
    with opened(tmp_path) as directory:
        [stored] = directory.partitions()
        go(directory, stored.path)
        for _ in directory.remove_deleted():
            pass
        directory.open_log("t", 0, LogConfig(), topic_id=topic_id)
        assert directory.topic_id("t", 0) == topic_id


def test_another_topics_log_is_not_taken(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        directory.open_log("t", 0, LogConfig(), topic_id=uuid.uuid4())
        with pytest.raises(KafkaError) as caught:
            directory.open_log("t", 0, LogConfig(), topic_id=uuid.uuid4())
        assert caught.value.code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_file_where_a_log_might_be_is_none(tmp_path: Path) -> None:
    for name in ("notes-2026", f"t-0.{'0' * 32}-delete"):
        (tmp_path / name).write_text("by hand")
    with opened(tmp_path) as directory:
        assert directory.partitions() == []
        assert len(list(tmp_path.glob("*-*"))) == 2


def test_a_link_keeps_its_name_and_its_target_has_one_broker(tmp_path: Path) -> None:
    """Clients name a data directory as the config does, as with Kafka."""
    link = tmp_path / "link"
    link.symlink_to("target")
    (tmp_path / "target").mkdir()
    with opened(link) as directory:
        assert directory.path == link
        append(directory.open_log("t", 0, LogConfig()), b"x")
        with pytest.raises(DataDirectoryInUse):
            open_directory(tmp_path / "target")
    assert (tmp_path / "target" / "t-0").is_dir()


@pytest.mark.parametrize("leads_alone", [True, False])
def test_a_file_that_is_gone_takes_only_its_log_along(tmp_path: Path, leads_alone: bool) -> None:
    """Unless others can lead what lies here. A broken disk takes all of its logs."""
    with opened(tmp_path) as directory:
        for partition in range(2):
            append(directory.open_log("t", partition, LogConfig()), b"x")
    with opened(tmp_path) as directory:
        directory.fails_with_any_log = not leads_alone
        gone, other = (directory.open_log("t", partition, LogConfig()) for partition in range(2))
        gone.storage_error(FileNotFoundError(errno.ENOENT, "No such file"))
        assert gone.offline_reason is not None
        assert (other.offline_reason is None) == leads_alone
        assert (directory.failure is None) == leads_alone
        other.storage_error(OSError(errno.EIO, "Input/output error"))
        assert directory.failure is not None


@pytest.mark.parametrize("operation", ["make_directory", "pwrite", "rename"])
@pytest.mark.parametrize(
    ("number", "fails"),
    [(errno.EIO, True), (errno.EROFS, True), (errno.EACCES, True)]
    + [(errno.ENOSPC, False), (errno.EDQUOT, False), (errno.EMFILE, False)],
)
def test_a_log_that_cannot_be_made_takes_its_directory_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, number: int, fails: bool
) -> None:
    """As any write does; one that is there and cannot be read does not."""
    with opened(tmp_path) as directory:
        other = directory.open_log("t", 0, LogConfig())

        def failing(*_: Any) -> Any:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patched:
            patched.setattr(Files, operation, failing)
            with pytest.raises(KafkaError, match=re.escape(os.strerror(number))):
                directory.open_log("t", 1, LogConfig(), topic_id=uuid.uuid4())
        assert (directory.failure is not None) == fails
        assert (other.offline_reason is not None) == fails


@pytest.mark.parametrize("operation", ["make_directory", "open", "pwrite", "rename"])
def test_a_move_that_cannot_begin_leaves_nothing_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    with opened(tmp_path) as directory:
        whole = vars(Files)[operation]

        def failing(files: Files, *arguments: Any) -> Any:
            if operation == "pwrite" or "-future" in str(arguments[0]):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return whole.__get__(files)(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(Files, operation, failing)
            with pytest.raises(KafkaError, match="No space left"):
                directory.open_future("t", 0, LogConfig(), topic_id=uuid.uuid4())
        for step in directory.remove_deleted():
            if callable(step):
                step()
        assert list(tmp_path.glob("t-0*")) == []
        assert directory.failure is None
