"""While share states are being loaded, those who ask for them in the same process wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from conformance.harness.members import Requests
from kafkalite.coordinators import loading
from kafkalite.coordinators.loading import Loading
from kafkalite.coordinators.share_coordinator.coordinator import ShareCoordinator
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.share_fetch import (
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

GROUP, MEMBER = "g", "m"
SLOW_SECONDS = 0.2
CONFIG = {"share.coordinator.state.topic.num.partitions": "2"}


class Once:
    """It is loaded after so many looks."""

    def __init__(self, looks: float) -> None:
        self.looks = looks

    @property
    def is_loading(self) -> bool:
        self.looks -= 1
        return self.looks >= 0


async def test_the_wait_ends_with_the_loading(autojump_clock: trio.testing.MockClock) -> None:
    assert Loading(Once(1)).is_under_way
    began = trio.current_time()
    await Loading(Once(0)).ended()
    assert trio.current_time() == began
    await Loading(Once(5)).ended()
    assert trio.current_time() - began == pytest.approx(0.05)


async def test_the_wait_ends_some_time(autojump_clock: trio.testing.MockClock) -> None:
    began = trio.current_time()
    await Loading(Once(float("inf"))).ended()
    assert trio.current_time() - began == pytest.approx(15, abs=0.1)


def slowed(steps: Iterator[Any]) -> Generator[Any]:
    yield lambda: time.sleep(SLOW_SECONDS)
    yield from steps


@pytest.fixture
def restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Requests]:
    """A broker that was started anew, with a group that is to read from offset 1, and whose states
    take long to load."""
    with broker(data_dir=tmp_path, config=CONFIG) as b, Requests(b.bootstrap, 60) as connection:
        b.create_topic("t", 1)
        b.create_topic("u", 1)
        b.produce("t", "a")
        b.produce("t", "b")
        connection.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 4)
        altered = connection.call(altering(1), 0)
        assert altered.responses[0].partitions[0].error_code == ErrorCode.NONE
    original = ShareCoordinator.__init__

    def slow(
        self: ShareCoordinator, *arguments: Any, load: Callable[[Any], Any], **more: Any
    ) -> None:
        original(self, *arguments, load=lambda steps: load(slowed(steps)), **more)

    monkeypatch.setattr(ShareCoordinator, "__init__", slow)
    monkeypatch.setattr(loading, "PROMPT_SECONDS", 0.0)
    monkeypatch.setattr(loading, "_LEAST_SECONDS", 0.0)
    with broker(data_dir=tmp_path, config=CONFIG) as b, Requests(b.bootstrap, 60) as connection:
        connection.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 4)
        yield connection


def altering(offset: int) -> AlterShareGroupOffsetsRequest:
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
    return AlterShareGroupOffsetsRequest(
        GROUP, [AlterShareGroupOffsetsRequestTopic("t", [partition])]
    )


def offset(connection: Requests) -> tuple[int, int]:
    """The error and the start offset."""
    asked = DescribeShareGroupOffsetsRequestGroup(
        GROUP, [DescribeShareGroupOffsetsRequestTopic("t", [0])]
    )
    answer = connection.call(DescribeShareGroupOffsetsRequest([asked]), 1)
    (partition,) = answer.groups[0].topics[0].partitions
    return partition.error_code, partition.start_offset


def test_offsets_are_described(restarted: Requests) -> None:
    assert offset(restarted) == (ErrorCode.NONE, 1)


def test_offsets_are_altered(restarted: Requests) -> None:
    altered = restarted.call(altering(0), 0)
    assert altered.responses[0].partitions[0].error_code == ErrorCode.NONE
    assert offset(restarted) == (ErrorCode.NONE, 0)


def test_offsets_are_deleted(restarted: Requests) -> None:
    request = DeleteShareGroupOffsetsRequest(GROUP, [DeleteShareGroupOffsetsRequestTopic("t")])
    answer = restarted.call(request, 0)
    assert (answer.error_code, answer.responses[0].error_code) == (ErrorCode.NONE, ErrorCode.NONE)


def test_the_group_is_deleted(restarted: Requests) -> None:
    answer = restarted.call(DeleteGroupsRequest([GROUP]), 2)
    assert answer.results[0].error_code == ErrorCode.NONE


def test_records_are_read(restarted: Requests) -> None:
    """A member gets them from where the group was. An error would end its loop."""
    beat = ShareGroupHeartbeatRequest(GROUP, MEMBER, 0, subscribed_topic_names=["t"])
    joined = restarted.call(beat, 1)
    (topic,) = joined.assignment.topic_partitions
    request = ShareFetchRequest(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=0,
        max_wait_ms=5000,
        min_bytes=1,
        max_bytes=1_000_000,
        max_records=10,
        batch_size=10,
        topics=[FetchTopic(topic.topic_id, [FetchPartition(0)])],
    )
    answer = restarted.call(request, 1)
    (read,) = answer.responses[0].partitions
    assert read.error_code == ErrorCode.NONE
    (acquired,) = read.acquired_records
    assert (acquired.first_offset, acquired.last_offset) == (1, 1)


def test_new_partitions_get_a_state(restarted: Requests) -> None:
    """One heartbeat is enough: the next one would come seconds later."""
    topics = ["t", "u"]
    restarted.call(ShareGroupHeartbeatRequest(GROUP, MEMBER, 0, subscribed_topic_names=topics), 1)
    everything = DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(GROUP, None)]
    )
    until = time.monotonic() + 5
    while time.monotonic() < until:
        answer = restarted.call(everything, 1)
        if len(answer.groups[0].topics) == 2:
            return
        time.sleep(0.05)
    pytest.fail("there is no state")
