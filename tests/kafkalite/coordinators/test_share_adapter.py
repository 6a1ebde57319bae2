"""Share groups in the broker: leaders and the group coordinator meet the share coordinator."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
import trio.testing

from kafkalite.coordinators.coordinator_log import decoded_records_of
from kafkalite.coordinators.share_coordinator import state_log
from kafkalite.log.log import Log
from kafkalite.replica.share.share_partition import StateUpdate
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
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
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.kafkalite.held_disk import HeldDisk
from tests.kafkalite.one_share_group import GROUP, OneShareGroup, one_share_group


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group(initialized=False) as made:
        yield made


def code(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        work()
    return refused.value.code


def test_the_first_need_makes_the_topic(group: OneShareGroup) -> None:
    topics = group.services.topics
    assert topics.get("__share_group_state") is None
    group.initialize()
    assert topics.get("__share_group_state") is not None


REQUESTS = (
    ShareGroupHeartbeatRequest(GROUP, "m", 0, subscribed_topic_names=["t"]),
    AlterShareGroupOffsetsRequest(
        GROUP,
        [
            AlterShareGroupOffsetsRequestTopic(
                "t", [AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)]
            )
        ],
    ),
    DescribeShareGroupOffsetsRequest(
        [
            DescribeShareGroupOffsetsRequestGroup(
                GROUP, [DescribeShareGroupOffsetsRequestTopic("t", [0])]
            )
        ]
    ),
)


async def test_to_forget_offsets_needs_no_states(connect: Any) -> None:
    async with test_broker() as broker:
        broker.create_topic("t", 1)
        client = await connect(broker)
        await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
        request = DeleteShareGroupOffsetsRequest(GROUP, [DeleteShareGroupOffsetsRequestTopic("t")])
        answer = await client.ask(request)
        assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert broker._running.services.topics.get("__share_group_state") is None


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
async def test_others_are_served_during_the_first_need(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch, request_: object
) -> None:
    """The topic's metadata wait for the disk, and others are served meanwhile."""
    disk = HeldDisk(monkeypatch)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker, disk:
        broker.create_topic("t", 1)
        client, other = await connect(broker), await connect(broker)
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        await client.ask(find)
        disk.hold()
        await client.send(request_)
        with trio.fail_after(20):
            while not disk.count:  # noqa: ASYNC110 - a thread is waited for
                await trio.sleep(0.01)
        assert (await other.ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
        disk.let_go()
        await client.answer()
        assert broker._running.services.topics.get("__share_group_state") is not None


IMPORTED = """
import sys
from kafkalite.testing import broker
from conformance.harness.members import ClassicMember, Requests, find_coordinators, join_all
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

def show():
    for room in ("share", "streams"):
        print(*(
            name
            for name in sys.modules
            if f".{room}_" in name or f".{room}." in name
            if not name.startswith(("kafkalite.wire.", "kafkalite.coordinators.share_adapter"))
        ))

with broker() as b, Requests(b.bootstrap, 60) as connection:
    b.create_topic("t", 1)
    b.produce("t", "value")
    find_coordinators(connection, ["a", "b", "c", "d"])
    join_all([ClassicMember("a", connection)])
    connection.call(ConsumerGroupHeartbeatRequest(
        group_id="b", member_id="m", rebalance_timeout_ms=9000,
        subscribed_topic_names=["t"], topic_partitions=[]), 1)
    show()
    connection.call(ShareGroupHeartbeatRequest(
        group_id="c", member_id="m", subscribed_topic_names=["t"]), 1)
    connection.call(StreamsGroupHeartbeatRequest(group_id="d", member_id="m"), 0)
    show()
"""


def test_nothing_is_imported_before_the_first_need() -> None:
    """Nor anything of streams groups: other groups come and go without them."""
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    *before, share, streams = done.stdout.splitlines()
    assert before == ["", ""]
    assert "kafkalite.coordinators.share_coordinator.coordinator" in share.split()
    assert "kafkalite.group_coordinator.streams_protocol" in streams.split()


def test_a_state_s_life(group: OneShareGroup) -> None:
    describe = (GROUP, group.topic_id, 0)
    assert group.share.describe_state(*describe) == (-1, -1, 0)
    group.initialize(start_offset=5)
    state = group.share.read_state(group.key(), 3)
    assert (state.start_offset, state.state_epoch) == (5, 1)
    update = StateUpdate(7, 2, [StateBatch(8, 9, 2, 1)])
    group.share.write_state(group.key(), 1, 3, update)
    assert group.share.describe_state(*describe) == (7, 2, 3)
    assert list(group.share.read_state(group.key(), 3).batches) == [StateBatch(8, 9, 2, 1)]
    group.share.delete_state(*describe)
    assert group.share.describe_state(*describe) == (-1, -1, 0)


def test_a_topic_that_is_deleted_takes_its_state_along(group: OneShareGroup) -> None:
    group.initialize()
    share = group.share.partitions.open(group.key(), group.partition())
    at_once(group.services.topics.deleting([group.topic_id]))
    assert share.is_fenced
    assert code(lambda: group.initialize()) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_end_that_consumers_see(group: OneShareGroup) -> None:
    group.append(b"a", b"b")
    assert group.share.latest_offset(group.topic_id, 0) == 2
    assert group.share.latest_offset(group.topic_id, 1) == 0
    for where in ((group.topic_id, 2), (UUID(int=9), 0)):
        refused = code(partial(group.share.latest_offset, *where))
        assert refused is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_limits_follow_the_group_s_configs(group: OneShareGroup) -> None:
    assert group.share.settings.limits(GROUP).delivery_count_limit == 5
    group.services.cluster.image.configs[32, GROUP] = {"share.delivery.count.limit": "3"}
    assert group.share.settings.limits(GROUP).delivery_count_limit == 3


async def test_time_passes_from_the_first_need_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Records that snapshots supersede are removed every five minutes."""
    with one_share_group(
        initialized=False, share_coordinator_snapshot_update_records_per_snapshot="1"
    ) as group:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(group.share.run)
            await trio.sleep(3600)
            group.initialize()
            log = group.share.coordinator.log
            index = log.index_of_state(group.key())
            for _ in range(3):
                group.share.write_state(group.key(), 1, 0, StateUpdate(-1, 0, []))
            before = [offset for offset, *_ in log.replay(index)]
            await trio.sleep(301)
            nursery.cancel_scope.cancel()
        assert before == [0, 1, 2, 3]
        assert [offset for offset, *_ in log.replay(index)] == [2, 3]


def test_so_many_bytes_of_states_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: set[int] = set()

    def seen(log: Log, kinds: dict[int, str], read_bytes: int) -> Any:
        sizes.add(read_bytes)
        return decoded_records_of(log, kinds, read_bytes)

    with one_share_group(share_coordinator_load_buffer_size="4321") as group:
        monkeypatch.setattr(state_log, "decoded_records_of", seen)
        log = group.share.coordinator.log
        assert list(log.replay(log.index_of_state(group.key())))
    assert sizes == {4321}
