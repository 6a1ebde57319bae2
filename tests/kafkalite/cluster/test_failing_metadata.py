"""Jobs of the controller, and each operation on the disk that they make: each fails once.

The operations are those that a job makes on a healthy disk, so that a new one is failed, too. The
job raises what `supervision.every` says once, or says it itself. What was acknowledged is there at
the next start, where the job is done.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkalite.log.files import Files
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from tests.kafkalite.clusters import create
from tests.kafkalite.snapshots import Opened
from tests.log.test_failing_jobs import OPERATIONS

CONFIG = {
    "metadata_log_max_record_bytes_between_snapshots": 5000,
    "metadata_max_retention_bytes": 1,
}


class WatchedFiles:
    """Notes the operations of all files while it is on; `failing` fails with `error`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on = False
        self.made: set[str] = set()
        self.failing = ""
        self.error = 0
        for operation in OPERATIONS:
            monkeypatch.setattr(Files, operation, self._watched(operation))

    def _watched(self, operation: str) -> Any:
        whole = vars(Files)[operation]

        def watched(files: Files, *arguments: Any) -> Any:
            if self.is_on:
                self.made.add(operation)
                if operation == self.failing:
                    raise OSError(self.error, os.strerror(self.error))
            return whole.__get__(files)(*arguments)

        return watched


class Job(NamedTuple):
    set_up: Callable[[Opened], None]
    work: Callable[[Opened], object]
    is_done: Callable[[Opened], bool]
    fails: frozenset[str]


def a_snapshot_is_due(opened: Opened) -> None:
    """The second one, after which the first one goes, and segments of the log."""
    for series in "ab":
        count = 0
        while not opened.metadata_log.is_snapshot_due:
            create(opened.cluster, f"{series}{count}", 10)
            count += 1
        if series == "a":
            opened.snapshot()


def is_snapshot_there(opened: Opened) -> bool:
    (newest,) = opened.metadata_log.snapshots
    return not opened.metadata_log.is_snapshot_due and newest.path(opened.directory).exists()


def a_leader_has_moved(opened: Opened) -> None:
    create(opened.cluster, "led", 3, 3)
    for node_id in (1, 2, 3):
        opened.cluster.fence(node_id)
        at_once(opened.cluster.unfencing(node_id))
    assert not is_balanced(opened)


def is_balanced(opened: Opened) -> bool:
    partitions = opened.cluster.image.topics["led"].partitions
    return all(each.leader_id == each.replicas[0] for each in partitions)


def finish_a_change(opened: Opened) -> None:
    """One whose request has gone after it was begun."""
    record = ConfigRecord(resource_type=4, resource_name="", name="log.retention.ms", value="7")
    opened.cluster.begin_write([record])
    at_once(opened.cluster.settling())


def is_changed(opened: Opened) -> bool:
    is_seen = opened.cluster.image.configs.get((4, ""), {}).get("log.retention.ms") == "7"
    return is_seen and not opened.cluster.is_changing


JOBS = {
    "abandoned change": Job(
        lambda opened: None, finish_a_change, is_changed, frozenset({"pwrite", "sync"})
    ),
    "snapshot": Job(
        a_snapshot_is_due,
        Opened.snapshot,
        is_snapshot_there,
        frozenset({"open", "pwrite", "sync", "sync_directory", "rename", "unlink", "names"}),
    ),
    "leader balance": Job(
        a_leader_has_moved,
        lambda opened: at_once(opened.cluster.balancing_leaders()),
        is_balanced,
        frozenset({"pwrite", "sync"}),
    ),
}


def operations_of(job: Job, directory: Path, files: WatchedFiles) -> list[str]:
    """The operations that a job makes while all is well."""
    opened = Opened(directory, **CONFIG).start()
    job.set_up(opened)
    files.is_on = True
    job.work(opened)
    files.is_on = False
    assert job.is_done(opened)
    opened.close()
    return sorted(files.made)


def leaders(opened: Opened) -> dict[str, list[int]]:
    topics = opened.cluster.image.topics
    return {name: [each.leader_id for each in topic.partitions] for name, topic in topics.items()}


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("name", JOBS)
def test_a_job_outlives_each_of_its_operations(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    number: int,
) -> None:
    job, files = JOBS[name], WatchedFiles(monkeypatch)
    operations = operations_of(job, tmp_path / "healthy", files)
    assert job.fails <= set(operations)
    for operation in operations:
        files.failing, files.error = operation, number
        opened = Opened(tmp_path / operation, **CONFIG).start()
        job.set_up(opened)
        caplog.clear()
        files.is_on = True
        is_told = False
        try:
            job.work(opened)
        except (OSError, KafkaError):
            is_told = True
        files.is_on = False
        assert is_told or caplog.records, f"{operation} is not said"
        before = leaders(opened)
        if number == errno.ENOSPC:
            create(opened.cluster, "later")
            before["later"] = leaders(opened)["later"]
        opened.close()
        again = Opened(tmp_path / operation, **CONFIG).start()
        if number == errno.ENOSPC:
            assert leaders(again) == before, "a change that was refused has come back"
        assert leaders(again).keys() == before.keys()
        job.work(again)
        assert job.is_done(again)
        again.close()
