"""A coordinator over a log in memory, and members that speak to it, all in virtual time."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from kafkalite.clock import SystemClock
from kafkalite.group_coordinator import large_groups, share_states
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.share_keeper import LocalKeeper
from kafkalite.wire.api_codec import drained
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
)
from tests.group_coordinator.in_memory import Context, MemoryLog, MemoryTopics, ShareStates
from tests.group_coordinator.in_messages import CoordinatorInMessages
from tests.group_coordinator.members import Consumer, Member
from tests.group_coordinator.share_consumers import ShareConsumer

T = TypeVar("T")


class Pending(Generic[T]):
    """A request that has been sent, and perhaps answered."""

    def __init__(self) -> None:
        self.response: T | None = None
        self._answered = trio.Event()

    async def run(self, call: Callable[[], Awaitable[T]]) -> None:
        self.response = await call()
        self._answered.set()

    async def wait(self) -> T:
        await self._answered.wait()
        assert self.response is not None
        return self.response


@dataclass
class World:
    """All there is in a test. Coordinators share the log: a second one is a restart."""

    nursery: trio.Nursery
    config: GroupConfig = field(
        default_factory=lambda: GroupConfig(
            group_initial_rebalance_delay_ms=100, group_consumer_assignment_interval_ms=0
        )
    )
    log: MemoryLog = field(default_factory=MemoryLog)
    topics: MemoryTopics = field(default_factory=MemoryTopics)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    share_states: ShareStates = field(default_factory=ShareStates)
    load: Callable[[Generator[None, None, None]], object] = drained
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    coordinator: CoordinatorInMessages = field(init=False)

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(trio.current_time() * 1000)

    async def start(self, **config: object) -> None:
        """Start a coordinator (again), with these configs changed."""
        self.scope.cancel()
        self.config = replace(self.config, **config)
        self.coordinator = CoordinatorInMessages(
            self.config,
            self.log,
            self.topics,
            clock=SystemClock(self.now_ms),
            configs_of=lambda group_id: self.group_configs.get(group_id, {}),
            share_state=lambda: LocalKeeper(self.share_states),
            load=self.load,
        )
        self.scope = trio.CancelScope()
        await self.nursery.start(self._run)

    async def _run(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self.scope:
            await self.coordinator.run(task_status=task_status)

    async def join_all(self, *members: Member) -> None:
        """Have these join at the same time, until all are in the same generation."""
        async with trio.open_nursery() as nursery:
            for member in members:
                nursery.start_soon(member.rejoin)

    async def soon(self, call: Callable[[], Awaitable[T]]) -> "Pending[T]":
        """Begin a request that will be parked, and let it get there."""
        pending: Pending[T] = Pending()
        self.nursery.start_soon(pending.run, call)
        await trio.testing.wait_all_tasks_blocked()
        return pending

    def member(self, group_id: str = "group", **options: object) -> Member:
        return Member(self, group_id, **options)

    def consumer(self, group_id: str = "group", **options: object) -> Consumer:
        return Consumer(self, group_id, **options)

    def set_partitions(self, topic: str, count: int) -> None:
        """Make a topic, let it grow, or (0) delete it."""
        topic_id = self.topics.topic_id(topic)
        self.topics.counts[topic] = count
        if not count:
            del self.topics.counts[topic]
            del self.topics.ids[topic]
            drained(self.coordinator.topics_deleted({topic: topic_id}))
        self.coordinator.topics_changed({topic})

    async def commit(
        self,
        *offsets: tuple[str, int, int],
        version: int = 9,
        partition_fields: Mapping[str, object] = {},
        **request: object,
    ) -> list[int]:
        """Commit (topic, partition, offset)s; the error codes, in order."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        **partition_fields,
                    )
                ],
            )
            for topic, partition, offset in offsets
        ]
        response = await self.coordinator.offset_commit(
            Context(version),
            OffsetCommitRequest(topics=topics, **{"group_id": "group"} | request),
        )
        return [p.error_code for t in response.topics for p in t.partitions]

    async def fetch_one(
        self, topic: str, partition: int, group_id: str = "group", *, require_stable: bool = False
    ) -> OffsetFetchResponsePartitions:
        response = await self.coordinator.offset_fetch(
            Context(9),
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])],
            ),
            require_stable=require_stable,
        )
        return response.topics[0].partitions[0]

    async def committed(self, topic: str, partition: int, group_id: str = "group") -> int:
        return (await self.fetch_one(topic, partition, group_id)).committed_offset

    async def leader(self, group_id: str = "group") -> str | None:
        return self.group(group_id).leader_id

    def group(self, group_id: str = "group"):
        return self.coordinator.shards.shard_of(group_id, 1).groups[group_id]

    async def describe_consumer(self, group_id: str = "group"):
        found = self.coordinator.consumer.describe(Context(1), group_id)
        return found() if callable(found) else found

    async def consumer_state(self, group_id: str = "group") -> str:
        return (await self.describe_consumer(group_id)).group_state

    async def state(self, group_id: str = "group") -> str:
        return self.coordinator.administration.describe(Context(5), group_id).group_state


@pytest.fixture
async def world(nursery: trio.Nursery) -> World:
    made = World(nursery)
    await made.start()
    return made


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Groups of both sizes: the changes of large ones are worked out on a copy."""
    if request.param == "large":
        monkeypatch.setattr(large_groups, "LARGE", -1)
        monkeypatch.setattr(share_states, "AT_ONCE", -1)
    kind: str = request.param
    return kind


@pytest.fixture
def consumers(world: World):
    def make(*names: str, **options: Any) -> list[ShareConsumer]:
        return [ShareConsumer(world, name, **options) for name in names]

    return make
