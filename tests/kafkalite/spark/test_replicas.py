"""A partition in several directories is read where the cluster would read it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from kafkalite.log.checkpoints import write_topic_id
from kafkalite.log.files import PARTITION_METADATA, Files
from kafkalite.spark import data_directory as one_directory
from kafkalite.spark import replicas
from kafkalite.spark.data_directory import Bounds, Isolation
from kafkalite.spark.pipelines.stored import reader
from kafkalite.spark.replicas import bounds, find_replicas
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory
from tests.kafkalite.spark.read_rows import Make


def written(directory: DataDirectory, epoch: int, *values: bytes) -> None:
    """One batch of a leader epoch."""
    directory.records(*values, partition_leader_epoch=epoch)
    directory.log.leader_epochs.write()


def read(*paths: Path) -> list[bytes]:
    source = reader(paths, None)
    found = source.bounds(TOPIC, 0, Isolation.READ_UNCOMMITTED)
    batches = source.read(TOPIC, 0, *found, Isolation.READ_UNCOMMITTED)
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def test_what_an_old_leader_kept_for_itself_is_passed_over(data_directory: Make) -> None:
    old, new = data_directory(), data_directory()
    for each in (old, new):
        written(each, 1, b"a", b"b")
    written(old, 1, b"lost", b"lost", b"lost")
    written(new, 2, b"c")
    paths = old.kill(), new.kill()
    assert find_replicas(paths) == {(TOPIC, 0): paths[::-1]}
    assert read(*paths) == read(*paths[::-1]) == [b"a", b"b", b"c"]


def test_of_one_epoch_the_furthest_is_read(data_directory: Make) -> None:
    behind, ahead = data_directory(), data_directory()
    for each in (behind, ahead):
        written(each, 1, b"a")
    written(ahead, 1, b"b")
    assert read(behind.kill(), ahead.kill()) == [b"a", b"b"]


def test_a_broker_that_runs_goes_before_one_that_was_killed(
    data_directory: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all that the running ones know to be committed is read."""
    killed, follower, leader = (data_directory() for _ in range(3))
    for each in (killed, follower, leader):
        written(each, 1, b"a", b"b", b"c")
    written(killed, 7, b"what nobody else has")
    written(leader, 2, b"d")
    written(follower, 2, b"d")
    written(follower, 3, b"e")  # it leads now, and has told of less
    paths = killed.kill(), follower.path, leader.path
    follower.checkpoint(2)
    leader.checkpoint(4)
    for module in (one_directory, replicas):
        monkeypatch.setattr(module, "is_held", lambda path: path != killed.path)
    assert find_replicas(paths)[TOPIC, 0] == (follower.path, leader.path, killed.path)
    assert bounds(find_replicas(paths)[TOPIC, 0], TOPIC, 0) == Bounds(0, 4)
    assert read(*paths) == [b"a", b"b", b"c", b"d"]


def stopped_in_turn(data_directory: Make, high_watermark: int) -> tuple[Path, Path]:
    """The directories of the last leader, which has not heard what is committed, and of the leader
    before it."""
    before, last = data_directory(), data_directory()
    for each in (before, last):
        written(each, 1, b"a", b"b", b"c")
    last.log.leader_epochs.assign(2, 3)
    before.stop(), last.stop()
    last.checkpoint(1)
    before.checkpoint(high_watermark)
    return before.path, last.path


def test_any_replica_at_rest_may_know_what_is_committed(data_directory: Make) -> None:
    before, last = stopped_in_turn(data_directory, 3)
    for paths in ((before, last), (last, before)):
        assert find_replicas(paths)[TOPIC, 0] == (last, before)
        assert read(*paths) == [b"a", b"b", b"c"]
    assert read(last) == [b"a"]


def test_no_more_is_committed_than_there_is(data_directory: Make) -> None:
    before, last = stopped_in_turn(data_directory, 7)
    assert bounds((last, before), TOPIC, 0) == Bounds(0, 3)


def test_a_topic_of_the_same_name_knows_nothing_of_this_one(data_directory: Make) -> None:
    before, last = stopped_in_turn(data_directory, 3)
    write_topic_id(Files(), before / f"{TOPIC}-0" / PARTITION_METADATA, uuid.uuid4())
    write_topic_id(Files(), last / f"{TOPIC}-0" / PARTITION_METADATA, uuid.uuid4())
    assert bounds((last, before), TOPIC, 0) == Bounds(0, 1)


def test_a_replica_at_rest_tells_those_that_run_nothing(
    data_directory: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records that it knew may be lost since, by an unclean election."""
    before, last = stopped_in_turn(data_directory, 3)
    for module in (one_directory, replicas):
        monkeypatch.setattr(module, "is_held", lambda path: path == last)
    assert bounds((last, before), TOPIC, 0) == Bounds(0, 1)


def test_a_broken_file_of_epochs_tells_of_none(data_directory: Make) -> None:
    broken, whole = data_directory(), data_directory()
    for each in (broken, whole):
        written(each, 1, b"a")
    written(broken, 1, b"b")
    paths = broken.kill(), whole.kill()
    (paths[0] / f"{TOPIC}-0" / "leader-epoch-checkpoint").write_text("nothing")
    assert find_replicas(paths)[TOPIC, 0] == paths[::-1]
