"""An abandoned broker gives back what it had, in small steps."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from kafkalite.broker import Broker
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.control import forgetting as module
from kafkalite.control.forgetting import TRASH, emptied, forgetting, freeing, removed
from kafkalite.log.directory_lock import is_locked_here
from kafkalite.log.log import Log
from kafkalite.replica.partition import Partition
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker
from kafkalite.wire.errors import KafkaError
from tests.kafkalite.conftest import batch

TOPICS = 50


def opened(directory: Path) -> Broker:
    """A broker whose topics have a record each, so that their files are open."""
    config = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory)}
    made = Broker(BrokerConfig(config)).__enter__()
    for number in range(TOPICS):
        made.services.topics.create(NewTopic(f"t-{number}", 1, 1))
    for topic in made.services.topics.all():
        topic.partitions[0].append(batch(b"v"))
    return made


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_no_step_closes_more_than_one_log(tmp_path: Path) -> None:
    before = open_files()
    old = opened(tmp_path)
    old.is_abandoned = True
    steps = forgetting(old)
    next(steps)
    assert not is_locked_here(tmp_path)
    last = begun = open_files()
    assert begun > before + TOPICS
    for _ in steps:
        assert open_files() >= last - 4
        last = open_files()
    assert last < begun - TOPICS
    old.__exit__(None, None, None)
    assert open_files() <= before


@pytest.mark.parametrize("is_abandoned", [False, True])
def test_what_has_ended_is_freed_by_no_collector(tmp_path: Path, is_abandoned: bool) -> None:
    """It keeps from the collector what has grown large."""
    old = opened(tmp_path)
    old.is_abandoned = is_abandoned
    gc.disable()
    try:
        at_once(forgetting(old) if is_abandoned else old.closing())
        at_once(freeing(old))
        names = [str(each) for each in gc.get_objects() if isinstance(each, Partition | Log)]
        assert not [name for name in names if "t-" in name]
        assert old.services.cluster.image.topics == {}
    finally:
        gc.enable()
        old.__exit__(None, None, None)


def data_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    (directory / "t-0").mkdir(parents=True)
    (directory / f"{TRASH}old").mkdir()
    directory.chmod(0o750)
    return directory


def test_a_directory_is_emptied_by_another_in_its_place(tmp_path: Path) -> None:
    directory = data_directory(tmp_path)
    inode = directory.stat().st_ino
    trash = emptied(directory, f"{TRASH}1")
    assert directory.stat().st_ino != inode
    assert trash.stat().st_ino == inode
    assert directory.stat().st_mode & 0o777 == 0o750
    assert sorted(path.name for path in directory.iterdir()) == [f"{TRASH}1", f"{TRASH}old"]
    assert [path.name for path in trash.iterdir()] == ["t-0"]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("why", ["others", "cannot"])
def test_where_it_cannot_be_replaced_its_contents_are_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    directory = data_directory(tmp_path)
    stays = {f"{TRASH}1", f"{TRASH}old"}
    if why == "others":
        (directory / ".kafkalite").mkdir()
        stays.add(".kafkalite")
    else:

        def refused(self: Path, target: Path) -> Path:
            if self == directory:
                raise OSError(16, "Device or resource busy")
            self.replace(target)
            return target

        monkeypatch.setattr(module.Path, "rename", refused)
    inode = directory.stat().st_ino
    trash = emptied(directory, f"{TRASH}1")
    assert directory.stat().st_ino == inode
    assert {path.name for path in directory.iterdir()} == stays
    assert [path.name for path in trash.iterdir()] == ["t-0"]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_directory_that_is_kept_is_reset_again_and_again(tmp_path: Path) -> None:
    with broker(data_dir=tmp_path / "data") as k:
        for turn in range(4):
            k.create_topic(f"t-{turn}")
            k.produce(f"t-{turn}", "v")
            if turn == 2:
                k.snapshot("s")
            assert [topic.name for topic in k.topics()] == [f"t-{turn}"]
            assert k.reset().records == 1
        assert k.topics() == []
        assert len(k.ask("snapshots.list")) == 1


async def test_what_is_removed_is_gone(tmp_path: Path) -> None:
    directory = data_directory(tmp_path)
    await removed(directory)
    assert not directory.exists()


def test_a_broker_that_is_forgotten_writes_no_metadata(tmp_path: Path) -> None:
    """Its successor may have opened them already, and would not understand them at the next
    start."""
    made = opened(tmp_path)
    made.abandon()
    next(forgetting(made))
    with pytest.raises(KafkaError, match="the broker has ended"):
        made.services.topics.create(NewTopic("late", 1, 1))
    made.__exit__(None, None, None)
