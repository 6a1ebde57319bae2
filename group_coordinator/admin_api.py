"""The requests of administrators about groups of all kinds: describe, list, delete.

A part of the GroupCoordinator, which finds the groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context, check_group_id
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.offset_api import OffsetRequests
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.state_log import OffsetLog
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import consumer_group_describe
from kafkalite.wire.messages.delete_groups import DeletableGroupResult
from kafkalite.wire.messages.describe_groups import DescribedGroup
from kafkalite.wire.messages.list_groups import ListedGroup

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_api import ShareGroupRequests


class GroupAdministration(ABC):
    """Requests about groups by those who are not in them."""

    config: GroupConfig
    log: OffsetLog
    topics: TopicsView
    offsets: OffsetRequests

    @property
    @abstractmethod
    def share(self) -> ShareGroupRequests: ...

    @abstractmethod
    def shard_of(self, group_id: str, node_id: int) -> Shard: ...

    @abstractmethod
    def shards_of(self, node_id: int) -> list[Shard]: ...

    @abstractmethod
    def unload(self, group: Group, error_code: ErrorCode) -> None: ...

    @abstractmethod
    def check_consumer_protocol(self) -> None: ...

    async def describe_groups(
        self, context: Context, group_ids: Sequence[str]
    ) -> list[DescribedGroup]:
        described: list[DescribedGroup] = []
        for group_id in group_ids:
            try:
                shard = self.shard_of(group_id, context.node_id)
                group = shard.seen(group_id, self.log.end_offset(shard.partition))
                described.append(admin.describe(group_id, group, context.api_version))
            except KafkaError as refused:
                described.append(DescribedGroup(group_id=group_id, error_code=refused.code))
        return described

    async def consumer_group_describe(
        self, context: Context, group_ids: Sequence[str]
    ) -> list[consumer_group_describe.DescribedGroup]:
        described: list[consumer_group_describe.DescribedGroup] = []
        for group_id in group_ids:
            try:
                self.check_consumer_protocol()
                check_group_id(group_id)
                shard = self.shard_of(group_id, context.node_id)
                group = shard.seen(group_id, self.log.end_offset(shard.partition))
                default = self.config.group_consumer_assignors[0]
                described.append(admin.describe_consumer(group_id, group, self.topics, default))
            except KafkaError as refused:
                described.append(
                    consumer_group_describe.DescribedGroup(
                        group_id=group_id, error_code=refused.code
                    )
                )
        return described

    async def list_groups(
        self, context: Context, states: Sequence[str], types: Sequence[str]
    ) -> list[ListedGroup]:
        """The groups of the node asked; no filter lets all through."""
        groups = (
            group
            for shard in self.shards_of(context.node_id)
            for group_id in shard.groups
            if (group := shard.seen(group_id, self.log.end_offset(shard.partition)))
        )
        return admin.listed(groups, states, types)

    async def delete_groups(
        self, context: Context, group_ids: Sequence[str]
    ) -> list[DeletableGroupResult]:
        results: list[DeletableGroupResult] = []
        for group_id in dict.fromkeys(group_ids):
            error_code = ErrorCode.NONE
            try:
                self._delete_group(self.shard_of(group_id, context.node_id), group_id)
            except KafkaError as refused:
                error_code = refused.code
            results.append(DeletableGroupResult(group_id=group_id, error_code=error_code))
        return results

    def _delete_group(self, shard: Shard, group_id: str) -> None:
        if (group := shard.groups.get(group_id)) is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        group.validate_delete()
        if group.group_type == "share":
            self.share.delete_state(group)
        self.offsets.forget_group(shard, group)
        self.unload(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
