"""A change is appended, on the disk, and then seen; the next decision comes after that."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from tests.kafkalite.held_disk import HeldDisk
from tests.kafkalite.snapshots import Opened, create


def config(value: str) -> ConfigRecord:
    return ConfigRecord(
        resource_type=TOPIC_RESOURCE, resource_name="t", name="retention.ms", value=value
    )


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    opened = Opened(tmp_path).start()
    create(opened.cluster, "t")
    return opened


def retention(opened: Opened) -> str | None:
    return opened.cluster.image.topic_configs("t").get("retention.ms")


def test_a_change_is_seen_when_it_is_on_the_disk(opened: Opened) -> None:
    cluster = opened.cluster
    cluster.begin_write([config("7")])
    assert (retention(opened), cluster.is_changing) == (None, True)
    assert opened.log.recovery_point < opened.log.log_end_offset
    at_once(cluster.finishing())
    assert (retention(opened), cluster.is_changing) == ("7", False)
    assert opened.log.recovery_point == opened.log.log_end_offset


def test_two_that_wait_for_one_change_apply_it_once(opened: Opened) -> None:
    cluster = opened.cluster
    told: list[int] = []
    cluster.subscribe(lambda records: told.append(cluster.image.offset))
    cluster.begin_write([config("7")])
    both = [cluster.finishing(), cluster.settling()]
    for waiting in both:
        wait = next(waiting)
        assert wait is not None
        wait()
    for waiting in both:
        at_once(waiting)
    assert told == [opened.log.log_end_offset - 1]


def test_a_decision_sees_the_change_before_it(opened: Opened) -> None:
    cluster = opened.cluster
    topic_id = cluster.image.topics["t"].topic_id
    leader = cluster.image.topics["t"].partitions[0].leader_id
    cluster.begin_write([config("7")])
    cluster.fence(leader)
    assert retention(opened) == "7"
    assert cluster.image.topics_by_id[topic_id].partitions[0].leader_id != leader
    offsets = [offset for offset, _ in opened.metadata_log.replay()]
    assert offsets == sorted(offsets)


def test_a_change_that_is_not_on_the_disk_is_never_seen(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    disk.error = errno.ENOSPC
    cluster = opened.cluster
    cluster.begin_write([config("7")])
    with pytest.raises(KafkaError) as failed:
        at_once(cluster.finishing())
    assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert (retention(opened), cluster.is_changing) == (None, False)
    disk.error = 0
    cluster.write([config("8")])
    assert retention(opened) == "8"


def test_a_failure_is_no_other_s(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = HeldDisk(monkeypatch)
    disk.error = errno.ENOSPC
    opened.cluster.begin_write([config("7")])
    opened.cluster.settle()
    disk.error = 0
    opened.cluster.write([config("8")])
    assert retention(opened) == "8"


def test_a_change_that_failed_is_not_there_at_the_next_start(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later change that was decided without it would contradict it."""
    disk = HeldDisk(monkeypatch)
    disk.error = errno.ENOSPC
    opened.cluster.begin_write([config("7")])
    opened.cluster.settle()
    disk.error = 0
    create(opened.cluster, "later")
    opened.close()
    again = Opened(opened.directory.parent).start()
    assert retention(again) is None
    assert "later" in again.cluster.image.topics
    again.close()
