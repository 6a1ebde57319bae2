"""Closed things are gone: what is left after connections, topics, groups, moves and brokers.

After each kind has come and gone once, it comes and goes some more times: there are as many
objects, open files and tasks as before.
"""

from __future__ import annotations

import gc
import logging
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.broker import Broker
from kafkalite.group_coordinator.classic_group import ClassicGroup
from kafkalite.group_coordinator.classic_member import ClassicMember
from kafkalite.log.future_log import LogMove
from kafkalite.log.log import Log
from kafkalite.log.segment import LogSegment
from kafkalite.replica.partition import Partition
from kafkalite.replica.topic import Topic
from kafkalite.requests.context import RequestContext
from kafkalite.server.channel import Channel
from kafkalite.server.connection import Connection
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from tests.kafkalite.data_directories import directory_of, other
from tests.kafkalite.fetching import fetch
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.test_failing_disk import connected, core, join, partition_of, write
from tests.kafkalite.transactional import Transactional
from tests.kafkalite.until import until

ROUNDS = 3
KINDS: tuple[type[Any], ...] = (
    Broker,
    Channel,
    ClassicGroup,
    ClassicMember,
    Connection,
    Log,
    LogMove,
    LogSegment,
    Partition,
    RequestContext,
    Topic,
)


def tasks_under(task: trio.lowlevel.Task | None) -> int:
    if task is None:
        return 0
    children = [each for nursery in task.child_nurseries for each in nursery.child_tasks]
    return 1 + sum(map(tasks_under, children))


def counted() -> Counter[str]:
    """The things that there are, by kind."""
    gc.collect()
    found = Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, KINDS))
    found["open files"] = len(os.listdir("/proc/self/fd"))
    found["tasks"] = tasks_under(trio.lowlevel.current_root_task())
    return found


async def connection(broker: test_broker) -> None:
    """Three clients: a request, half a request, and a request that waits."""
    clients = [await connected(broker) for _ in range(3)]
    assert (await clients[0].ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
    await clients[1].stream.send_all(b"\0\0\1\0half")
    await clients[2].send(fetch({0: 0}, max_wait_ms=60_000), 12)
    for client in clients:
        await client.stream.aclose()


async def topic(broker: test_broker) -> None:
    broker.create_topic("passing", 3, configs={"internal.segment.bytes": 1000})
    write(partition_of(broker, "passing"), 30)
    broker.delete_topic("passing")


async def group(broker: test_broker) -> None:
    """A member joins, falls silent, and the group is deleted."""
    client = await connected(broker)
    await join(client)

    def has_member() -> bool:
        found = core(broker).services.group_coordinator.interventions.group("group")
        return found is not None and bool(found.members)

    await until(lambda: not has_member())
    answer = await client.ask(DeleteGroupsRequest(groups_names=["group"]))
    assert answer.results[0].error_code == ErrorCode.NONE
    await client.stream.aclose()


async def move(broker: test_broker) -> None:
    """A log goes to the other directory, and comes back."""
    for _ in range(2):
        target = other(broker, directory_of(broker, "words"))
        core(broker).services.replica_moves.request(1, "words", 0, str(target))
        await until(lambda target=target: directory_of(broker, "words") == target)


@pytest.fixture(autouse=True)
def no_log_records() -> Iterator[None]:
    """Pytest keeps them, and with them the frames of errors."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.holds_the_loop  # by what counts
@pytest.mark.parametrize("comes_and_goes", [connection, topic, group, move])
async def test_nothing_is_left(tmp_path: Path, comes_and_goes: Any) -> None:
    config: dict[str, Any] = {
        **FEW_PARTITIONS,
        "log.dirs": f"{tmp_path}/a,{tmp_path}/b",
        "log.segment.delete.delay.ms": 0,
        "log.flush.scheduler.interval.ms": 10,
        "group.min.session.timeout.ms": 10,
    }
    async with test_broker(config) as broker:
        broker.create_topic("words", 1)
        write(partition_of(broker, "words"), 10)
        finder = await connected(broker)
        await Transactional(finder).find_coordinators()
        await finder.stream.aclose()
        await comes_and_goes(broker)
        await trio.sleep(0.5)  # what is removed later has its time
        before = counted()
        for _ in range(ROUNDS):
            await comes_and_goes(broker)
        await until(lambda: counted() <= before)


@pytest.mark.holds_the_loop
async def test_nothing_is_left_of_a_broker(tmp_path: Path) -> None:
    async def comes_and_goes() -> None:
        async with test_broker({**FEW_PARTITIONS, "log.dirs": str(tmp_path)}) as broker:
            await connection(broker)
            await topic(broker)

    await comes_and_goes()
    before = counted()
    for _ in range(ROUNDS):
        await comes_and_goes()
    await until(lambda: counted() <= before)
