"""A coordinator over a log in memory, and members that speak to it, all in virtual time."""

import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import pytest
import trio
import trio.testing

from kafkalite.clock import SystemClock
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.state_log import ReplayedMarker, ReplayedRecord, StateRecord
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity, MemberResponse
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
from kafkalite.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.group_coordinator.in_messages import CoordinatorInMessages

T = TypeVar("T")


@dataclass
class MemoryLog:
    """`__consumer_offsets` in a list; `failure` is raised by the next appends."""

    partition_count: int = 4
    entries: dict[int, list[ReplayedRecord | ReplayedMarker]] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    failure: ErrorCode | None = None
    batches: list[list[StateRecord]] = field(default_factory=list)

    def leader_id(self, partition: int) -> int | None:
        return self.leaders.get(partition, 1)

    def end_offset(self, partition: int) -> int:
        return len(self.entries.get(partition, ()))

    def append(
        self,
        partition: int,
        records: Sequence[StateRecord],
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> int:
        if self.failure is not None:
            raise KafkaError(self.failure)
        entries = self.entries.setdefault(partition, [])
        base_offset = len(entries)
        for offset, (key, value) in enumerate(records, base_offset):
            entries.append(ReplayedRecord(offset, key, value, producer_id))
        self.batches.append(list(records))
        return base_offset

    def end_transaction(self, partition: int, producer_id: int, committed: bool) -> None:
        self.entries.setdefault(partition, []).append(ReplayedMarker(producer_id, committed))

    def replay(self, partition: int) -> Iterable[ReplayedRecord | ReplayedMarker]:
        return list(self.entries.get(partition, []))


@dataclass
class MemoryTopics:
    """Topics by name, with their numbers of partitions."""

    counts: dict[str, int] = field(default_factory=lambda: {"orders": 4, "payments": 2})
    ids: dict[str, uuid.UUID] = field(default_factory=dict)

    def partition_count(self, topic: str) -> int:
        return self.counts.get(topic, 0)

    def topic_id(self, topic: str) -> uuid.UUID | None:
        if topic not in self.counts:
            return None
        return self.ids.setdefault(topic, uuid.uuid4())

    def topic_name(self, topic_id: uuid.UUID) -> str | None:
        return next((name for name in self.counts if self.topic_id(name) == topic_id), None)

    def names(self) -> Iterable[str]:
        return self.counts


@dataclass
class Context:
    api_version: int = 9
    client_id: str = "client"
    client_host: str = "127.0.0.1"
    node_id: int = 1


@dataclass
class ShareStates:
    """A share coordinator that keeps (state epoch, start offset); `failure` is raised if it is
    set."""

    kept: dict[tuple[str, uuid.UUID, int], tuple[int, int]] = field(default_factory=dict)
    failure: ErrorCode | None = None

    def initialize_state(
        self,
        group_id: str,
        topic_id: uuid.UUID,
        partition: int,
        state_epoch: int,
        start_offset: int,
    ) -> None:
        if self.failure is not None:
            raise KafkaError(self.failure)
        self.kept[group_id, topic_id, partition] = state_epoch, start_offset

    def delete_state(self, group_id: str, topic_id: uuid.UUID, partition: int) -> None:
        if self.failure is not None:
            raise KafkaError(self.failure)
        self.kept.pop((group_id, topic_id, partition), None)

    def describe_state(
        self, group_id: str, topic_id: uuid.UUID, partition: int
    ) -> tuple[int, int, int]:
        _, start_offset = self.kept.get((group_id, topic_id, partition), (0, -1))
        return start_offset, -1 if start_offset < 0 else 0, 0

    def latest_offset(self, topic_id: uuid.UUID, partition: int) -> int:
        return 100


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
            share_state=lambda: self.share_states,
        )
        self.scope = trio.CancelScope()
        await self.nursery.start(self._run)

    async def _run(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self.scope:
            await self.coordinator.run(task_status=task_status)

    async def join_all(self, *members: "Member") -> None:
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

    def member(self, group_id: str = "group", **options: object) -> "Member":
        return Member(self, group_id, **options)

    def consumer(self, group_id: str = "group", **options: object) -> "Consumer":
        return Consumer(self, group_id, **options)

    def set_partitions(self, topic: str, count: int) -> None:
        """Make a topic, let it grow, or (0) delete it."""
        topic_id = self.topics.topic_id(topic)
        self.topics.counts[topic] = count
        if not count:
            del self.topics.counts[topic]
            del self.topics.ids[topic]
            self.coordinator.topic_deleted(topic, topic_id)
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
        return self.coordinator.shard_of(group_id, 1).groups[group_id]

    async def describe_consumer(self, group_id: str = "group"):
        return await self.coordinator.consumer_group_describe(Context(1), [group_id])

    async def consumer_state(self, group_id: str = "group") -> str:
        return (await self.describe_consumer(group_id))[0].group_state

    async def state(self, group_id: str = "group") -> str:
        described = await self.coordinator.describe_groups(Context(5), [group_id])
        return described[0].group_state


@dataclass
class Member:
    """A member of a classic group that does what a client does."""

    world: World
    group_id: str
    group_instance_id: str | None = None
    protocols: Sequence[tuple[str, bytes]] = (("range", b"subscription"),)
    protocol_type: str = "consumer"
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 30_000
    version: int = 9
    client_id: str = "client"
    member_id: str = ""
    generation_id: int = -1
    assignment: bytes = b""

    @property
    def context(self) -> Context:
        return Context(self.version, self.client_id)

    async def join(self) -> JoinGroupResponse:
        """One JoinGroup."""
        response = await self.world.coordinator.join_group(
            self.context,
            JoinGroupRequest(
                group_id=self.group_id,
                session_timeout_ms=self.session_timeout_ms,
                rebalance_timeout_ms=self.rebalance_timeout_ms,
                member_id=self.member_id,
                group_instance_id=self.group_instance_id,
                protocol_type=self.protocol_type,
                protocols=[
                    JoinGroupRequestProtocol(name=name, metadata=metadata)
                    for name, metadata in self.protocols
                ],
            ),
        )
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = response.member_id
            self.generation_id = response.generation_id
        return response

    async def sync(self, assignments: dict[str, bytes] | None = None) -> SyncGroupResponse:
        response = await self.world.coordinator.sync_group(
            self.context,
            SyncGroupRequest(
                group_id=self.group_id,
                generation_id=self.generation_id,
                member_id=self.member_id,
                group_instance_id=self.group_instance_id,
                protocol_type=self.protocol_type,
                assignments=[
                    SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                    for member_id, assignment in (assignments or {}).items()
                ],
            ),
        )
        if response.error_code == ErrorCode.NONE:
            self.assignment = response.assignment
        return response

    async def rejoin(self) -> JoinGroupResponse:
        """Join and sync as a client does, being given an id first where that is needed. As leader
        it assigns to each member that member's own id."""
        response = await self.join()
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            response = await self.join()
        if response.error_code == ErrorCode.NONE:
            leads = response.leader == self.member_id
            ids = [m.member_id for m in response.members] if leads else []
            await self.sync({member_id: member_id.encode() for member_id in ids})
        return response

    async def heartbeat(self) -> int:
        response = await self.world.coordinator.heartbeat(
            self.context,
            HeartbeatRequest(
                group_id=self.group_id,
                generation_id=self.generation_id,
                member_id=self.member_id,
                group_instance_id=self.group_instance_id,
            ),
        )
        return response.error_code

    async def leave(self, **identity: object) -> MemberResponse:
        response = await self.world.coordinator.leave_group(
            self.context,
            LeaveGroupRequest(
                group_id=self.group_id,
                members=[MemberIdentity(**{"member_id": self.member_id} | identity)],
            ),
        )
        return response.members[0]

    async def commit(self, topic: str, partition: int, offset: int) -> int:
        codes = await self.world.commit(
            (topic, partition, offset),
            group_id=self.group_id,
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            generation_id_or_member_epoch=self.generation_id,
        )
        return codes[0]


@dataclass
class Consumer:
    """A member of a group of the consumer protocol that does what a client does: it gives up at
    once what it is asked to, and says in each heartbeat what it has."""

    world: World
    group_id: str
    topics: Sequence[str] | None = ("orders",)
    regex: str | None = None
    instance_id: str | None = None
    assignor: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = 30_000
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    owned: dict[uuid.UUID, set[int]] = field(default_factory=dict)
    revokes: bool = True
    interval: float = 0

    @property
    def partitions(self) -> set[tuple[str, int]]:
        return {
            (self.world.topics.topic_name(topic_id), index)
            for topic_id, indexes in self.owned.items()
            for index in indexes
        }

    async def send(self, version: int = 1, **fields: object) -> ConsumerGroupHeartbeatResponse:
        """One heartbeat with these fields, and nothing done with its answer."""
        return await self.world.coordinator.consumer_group_heartbeat(
            Context(version),
            ConsumerGroupHeartbeatRequest(
                **{
                    "group_id": self.group_id,
                    "member_id": self.member_id,
                    "member_epoch": self.epoch,
                    "instance_id": self.instance_id,
                }
                | fields
            ),
        )

    async def beat(self, **fields: object) -> int:
        """One heartbeat: the first is a full one, the others say what is owned."""
        if self.epoch == 0:
            self.owned = {}
            fields = {
                "rebalance_timeout_ms": self.rebalance_timeout_ms,
                "subscribed_topic_names": None if self.topics is None else list(self.topics),
                "subscribed_topic_regex": self.regex,
                "server_assignor": self.assignor,
                "rack_id": self.rack_id,
            } | fields
        listed = [
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in self.owned.items()
        ]
        response = await self.send(**{"topic_partitions": listed} | fields)
        if response.error_code == ErrorCode.NONE:
            self.epoch = response.member_epoch
            self.interval = response.heartbeat_interval_ms / 1000
            if response.assignment is not None and self.revokes:
                self.owned = {
                    topic.topic_id: set(topic.partitions)
                    for topic in response.assignment.topic_partitions
                }
        elif response.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.epoch, self.owned = 0, {}
        return response.error_code

    async def leave(self, epoch: int = -1) -> int:
        response = await self.send(member_epoch=epoch)
        self.epoch, self.owned = 0, {}
        return response.error_code


@pytest.fixture
async def world(nursery: trio.Nursery) -> World:
    made = World(nursery)
    await made.start()
    return made
