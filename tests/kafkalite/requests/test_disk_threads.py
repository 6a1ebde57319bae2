"""A disk that takes its time delays only the client that asked for it."""

from __future__ import annotations

import os
import threading

import pytest
import trio

from kafkalite.log import page_cache
from kafkalite.log.page_cache import NotCached
from kafkalite.requests.disk_threads import in_disk_thread, off_loop
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.kafkalite.conftest import Clients, batch
from tests.kafkalite.fetching import ALIVE, answers, fetch, produce, values

MB = 1 << 20
SECONDS = 60
BLOCK_BYTES = 4096


class Disk:
    """Nothing is in the page cache before a thread has waited for it, which it does until `ready`
    is set."""

    def __init__(self) -> None:
        self.cached: set[tuple[int, int]] = set()
        self.ready = threading.Event()
        self.read_count = 0

    def blocks(self, descriptor: int, size: int, position: int) -> set[tuple[int, int]]:
        inode = os.fstat(descriptor).st_ino
        first, end = position // BLOCK_BYTES, (position + size - 1) // BLOCK_BYTES + 1
        return {(inode, block) for block in range(first, end)}

    def is_cached(self, descriptor: int, size: int, position: int) -> bool:
        return self.blocks(descriptor, size, position) <= self.cached

    def pread_cached(self, descriptor: int, size: int, position: int) -> bytes | None:
        if not self.is_cached(descriptor, size, position):
            return None
        return os.pread(descriptor, size, position)

    def read_ahead(self, descriptor: int, size: int, position: int) -> None:
        assert threading.current_thread() is not threading.main_thread()
        self.read_count += 1
        assert self.ready.wait(SECONDS), "nobody lets the disk go on"
        self.cached |= self.blocks(descriptor, size, position)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    for name in ("is_cached", "pread_cached", "read_ahead"):
        monkeypatch.setattr(page_cache, name, getattr(disk, name))
    return disk


async def test_others_are_answered_while_a_fetch_waits_for_the_disk(
    disk: Disk, broker: test_broker, clients: Clients
) -> None:
    broker.create_topic("words", 1, configs={"segment.bytes": str(MB)})
    reader, other = await clients.connect(), await clients.connect()
    large = [bytes([number]) * 600_000 for number in range(3)]
    for value in large:  # a segment each
        await produce(other, batch(value))
    with trio.fail_after(SECONDS):
        await reader.send(fetch({0: 0}), 12)
        for _ in range(3):
            await other.ask(ALIVE, 3)
        while not disk.read_count:
            await other.ask(ALIVE, 3)
        disk.ready.set()
        answer = answers(await reader.answer())[0]
        assert values(answer.records) == large[:1]
        assert values(answers(await reader.ask(fetch({0: 0}), 12))[0].records) == large[:1]
        assert disk.read_count == 1, "a small file is read whole, and once"


async def test_small_answers_wait_for_the_disk_too(
    disk: Disk, broker: test_broker, clients: Clients
) -> None:
    broker.create_topic("words", 1)
    reader, other = await clients.connect(), await clients.connect()
    await produce(other, batch(b"small"))
    with trio.fail_after(SECONDS):
        await reader.send(fetch({0: 0}), 12)
        await reader.send(ALIVE, 3)
        while not disk.read_count:
            await other.ask(ALIVE, 3)
        disk.ready.set()
        assert values(answers(await reader.answer())[0].records) == [b"small"]
        await reader.answer()


async def test_a_timestamp_is_looked_for_while_others_are_answered(
    disk: Disk, broker: test_broker, clients: Clients
) -> None:
    broker.create_topic("words", 1, configs={"segment.bytes": str(MB)})
    reader, other = await clients.connect(), await clients.connect()
    for number in range(3):  # a segment each
        await produce(other, batch(bytes(600_000), timestamp=1000 + number))
    wanted = ListOffsetsPartition(partition_index=0, timestamp=1001)
    topic = ListOffsetsTopic(name="words", partitions=[wanted])
    with trio.fail_after(SECONDS):
        await reader.send(ListOffsetsRequest(topics=[topic]), 7)
        while not disk.read_count:
            await other.ask(ALIVE, 3)
        for _ in range(3):
            await other.ask(ALIVE, 3)
        disk.ready.set()
        found = (await reader.answer()).topics[0].partitions[0]
        assert (found.error_code, found.timestamp, found.offset) == (ErrorCode.NONE, 1001, 1)


def test_a_read_in_steps_goes_on_after_each_wait() -> None:
    tries: list[int] = []

    def read() -> int:
        tries.append(0)
        if len(tries) < 3:
            with open(os.devnull) as file:
                raise NotCached(file.fileno(), 0, 1)
        return len(tries)

    steps = off_loop(read)
    for _ in range(2):
        next(steps)()
    with pytest.raises(StopIteration) as done:
        next(steps)
    assert done.value.value == 3


async def test_without_a_thread_the_work_is_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit of a user or a container is shared: others may have all threads for a while."""

    def none_is_free(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(trio._threads, "start_thread_soon", none_is_free)
    done: list[threading.Thread] = []
    for _ in range(20):  # more than there may be threads
        await in_disk_thread(lambda: done.append(threading.current_thread()))
    assert done == [threading.main_thread()] * 20


async def test_an_error_of_the_work_is_raised_and_the_work_not_done_again() -> None:
    done: list[int] = []

    def fails() -> None:
        done.append(1)
        raise RuntimeError("another one")

    with pytest.raises(RuntimeError, match="another one"):
        await in_disk_thread(fails)
    assert done == [1]
