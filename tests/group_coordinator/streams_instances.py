"""Members of streams groups that do as they are told, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_describe import DescribedGroup
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from kafkalite.wire.rows import SharedResponse, message_of_row, rows_of
from tests.group_coordinator.conftest import World
from tests.group_coordinator.in_memory import Context

PLAIN = Topology(epoch=0, subtopologies=[Subtopology(subtopology_id="0", source_topics=["orders"])])
STATEFUL = Topology(
    epoch=0,
    subtopologies=[
        Subtopology(
            subtopology_id="0",
            source_topics=["orders"],
            state_changelog_topics=[TopicInfo(name="store")],
        )
    ],
)


TASKS = ("active_tasks", "standby_tasks", "warmup_tasks")


@dataclass
class Instance:
    """A member that does as it is told: what it is not to have any more, it gives up."""

    world: World
    member_id: str
    topology: Topology = field(default_factory=lambda: PLAIN)
    epoch: int = 0
    active: set[int] = field(default_factory=set)
    standby: set[int] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)

    def quiet(self, **fields: Any) -> StreamsGroupHeartbeatResponse:
        """The answer to a heartbeat that names no tasks, and nothing else but `fields`."""
        return self.send(**dict.fromkeys(TASKS) | fields)

    def send(self, caller: Context | None = None, **fields: Any) -> StreamsGroupHeartbeatResponse:
        first = self.epoch == 0
        values = {
            "group_id": "app",
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "topology": self.topology if first else None,
            "rebalance_timeout_ms": 30_000 if first else -1,
            "process_id": f"process-{self.member_id}" if first else None,
            "active_tasks": listed(self.active),
            "standby_tasks": listed(self.standby),
            "warmup_tasks": [],
        } | fields
        answered = self.world.coordinator.streams.heartbeat(
            caller or Context(), rows_of(StreamsGroupHeartbeatRequest(**values))
        )
        if isinstance(answered, SharedResponse):
            return message_of_row(StreamsGroupHeartbeatResponse, answered.row)
        return answered.response

    def rejoins(self) -> None:
        """It begins anew, without tasks."""
        self.epoch, self.active, self.standby = 0, set(), set()

    def beat(self, **fields: Any) -> int:
        response = self.send(**fields)
        if response.error_code:
            return response.error_code
        self.epoch = response.member_epoch
        self.statuses = {status.status_code for status in response.status or ()}
        if response.active_tasks is not None:
            self.active = partitions(response.active_tasks)
            self.standby = partitions(response.standby_tasks)
        return ErrorCode.NONE


def listed(indexes: set[int]) -> list[TaskIds]:
    return [TaskIds(subtopology_id="0", partitions=sorted(indexes))] if indexes else []


def partitions(tasks: list[TaskIds] | None) -> set[int]:
    return {index for each in tasks or () for index in each.partitions}


@pytest.fixture
async def quick(world: World) -> World:
    await world.start(
        group_streams_initial_rebalance_delay_ms=0, group_streams_assignment_interval_ms=0
    )
    return world


def instances(world: World, *names: str, **options: Any) -> list[Instance]:
    return [Instance(world, name, **options) for name in names]


def settle(*members: Instance, rounds: int = 4) -> None:
    for _ in range(rounds):
        for member in members:
            assert member.beat() == ErrorCode.NONE
        active = [index for member in members for index in member.active]
        assert len(active) == len(set(active)), "no task is active twice"


def described(world: World) -> DescribedGroup:
    group = world.coordinator.streams.describe(Context(), "app")
    return group
