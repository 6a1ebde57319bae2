"""Members of classic and of consumer groups, which do what clients do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkalite.wire.errors import ErrorCode
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
from kafkalite.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from tests.group_coordinator.in_memory import Context

if TYPE_CHECKING:
    from tests.group_coordinator.conftest import World


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
    may_describe: Callable[[str], bool] | None = None

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
            Context(version, may_describe=self.may_describe),
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
