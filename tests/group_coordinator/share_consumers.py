"""Members of the share group "queue", which do what clients do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafkalite.wire.rows import message_of_row, row_of
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.in_messages import answer_of

if TYPE_CHECKING:
    from tests.group_coordinator.conftest import World


@dataclass
class ShareConsumer:
    """A member; it remembers its epoch and what it was assigned."""

    world: World
    member_id: str
    topics: list[str] = field(default_factory=lambda: ["orders"])
    epoch: int = 0
    partitions: set[tuple[str, int]] = field(default_factory=set)

    def send(self, **fields: Any) -> ShareGroupHeartbeatResponse:
        values = {
            "group_id": "queue",
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "subscribed_topic_names": self.topics if self.epoch == 0 else None,
        } | fields
        request = ShareGroupHeartbeatRequest(**values)
        answer = answer_of(self.world.coordinator.share, Context(), request)
        return message_of_row(ShareGroupHeartbeatResponse, row_of(answer))

    def beat(self, **fields: Any) -> int:
        response = self.send(**fields)
        if not response.error_code:
            self.epoch = response.member_epoch
        if response.assignment is not None:
            name = self.world.topics.topic_name
            self.partitions = {
                (name(topic.topic_id) or "?", partition)
                for topic in response.assignment.topic_partitions
                for partition in topic.partitions
            }
        return response.error_code


async def settle(*consumers: ShareConsumer, rounds: int = 4) -> None:
    for _ in range(rounds):
        await trio.sleep(1.1)
        for consumer in consumers:
            assert consumer.beat() == ErrorCode.NONE


def orders(*indexes: int) -> set[tuple[str, int]]:
    return {("orders", index) for index in indexes}
