"""The requests of administrators about groups of all kinds: describe, list, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from kafkalite.group_coordinator import admin
from kafkalite.group_coordinator.callers import Context
from kafkalite.group_coordinator.offset_deletion import OffsetDeletion
from kafkalite.group_coordinator.shard import Group
from kafkalite.group_coordinator.shards import Shards
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.delete_groups import DeletableGroupResult
from kafkalite.wire.messages.describe_groups import DescribedGroup
from kafkalite.wire.messages.list_groups import ListedGroup

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_group import ShareGroup


class GroupAdministration:
    """Requests about groups by callers that are not members.

    `delete_share_state(group)` deletes the states of a share group. `unload(group, error_code)` is
    called after a group is deleted, and sends its waiting members away.
    """

    def __init__(
        self,
        shards: Shards,
        deletion: OffsetDeletion,
        unload: Callable[[Group, ErrorCode], None],
        delete_share_state: Callable[[ShareGroup], Awaitable[None]],
    ) -> None:
        self._shards = shards
        self._deletion = deletion
        self._unload = unload
        self._delete_share_state = delete_share_state

    def describe(self, context: Context, group_id: str) -> DescribedGroup:
        def describe() -> DescribedGroup:
            group = self._shards.seen(group_id, context.node_id)
            return admin.describe(group_id, group, context.api_version)

        return admin.described_or_refused(group_id, describe, DescribedGroup)

    def list_groups(
        self, context: Context, states: Sequence[str], types: Sequence[str]
    ) -> Generator[None, None, list[ListedGroup]]:
        """The groups that the node coordinates, in steps. An empty filter lets all through.

        Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS).
        """
        return admin.listed(self._shards.all_seen(context.node_id), states, types)

    def is_share_group(self, context: Context, group_id: str) -> bool:
        """Tells whether it is a share group that the node coordinates."""
        try:
            group = self._shards.shard_of(group_id, context.node_id).groups.get(group_id)
        except KafkaError:
            return False
        return group is not None and group.group_type == "share"

    async def delete_share_group(self, context: Context, group_id: str) -> DeletableGroupResult:
        """Delete a share group and, before, its states."""
        try:
            group = self._shards.shard_of(group_id, context.node_id).groups[group_id]
            group.validate_delete()
            await self._delete_share_state(cast("ShareGroup", group))
        except KafkaError as refused:
            return DeletableGroupResult(group_id=group_id, error_code=refused.code)
        return drained(self.deleting_group(context, group_id))

    def deleting_group(
        self, context: Context, group_id: str
    ) -> Generator[None, None, DeletableGroupResult]:
        """Delete a group that is not a share group, in steps if it has very many offsets."""
        shard_of = partial(self._shards.shard_of, group_id, context.node_id)
        try:
            group = yield from self._deletion.deleting_group(shard_of, group_id)
            self._unload(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        except KafkaError as refused:
            return DeletableGroupResult(group_id=group_id, error_code=refused.code)
        return DeletableGroupResult(group_id=group_id)
