"""A replica's role on this broker, from the metadata alone, and what a change of it asks for.

      was \\ becomes   NOWHERE   FOLLOWER         LEADER
      NOWHERE         -         open, follow     open, lead
      FOLLOWER        delete    follow again     lead
      LEADER          delete    follow           lead on

The metadata may come late: an answer to AlterPartition can be ahead of them. A view with a lower
partition epoch than the known one is passed over.
Source: TopicDelta.localChanges, Partition.makeLeader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Protocol


class Role(Enum):
    """A broker's part in a partition."""

    NOWHERE = "no replica here"
    FOLLOWER = "a replica that copies the leader's, or waits for one"
    LEADER = "the replica that all others copy"


class Action(Enum):
    """The consequence of a change of role, or of the metadata in it."""

    NOTHING = "nothing"
    LEAD = "begin to lead, or take in a change of replicas"
    FOLLOW = "stop what was, and copy the leader"
    DELETE = "stop what was, and delete the log"


ACTIONS: Final[Mapping[tuple[Role, Role], Action]] = {
    (Role.NOWHERE, Role.NOWHERE): Action.NOTHING,
    (Role.NOWHERE, Role.FOLLOWER): Action.FOLLOW,
    (Role.NOWHERE, Role.LEADER): Action.LEAD,
    (Role.FOLLOWER, Role.NOWHERE): Action.DELETE,
    (Role.FOLLOWER, Role.FOLLOWER): Action.FOLLOW,
    (Role.FOLLOWER, Role.LEADER): Action.LEAD,
    (Role.LEADER, Role.NOWHERE): Action.DELETE,
    (Role.LEADER, Role.FOLLOWER): Action.FOLLOW,
    (Role.LEADER, Role.LEADER): Action.LEAD,
}


class PartitionView(Protocol):
    """A partition as the metadata have it."""

    @property
    def leader_id(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def partition_epoch(self) -> int: ...
    @property
    def replicas(self) -> Sequence[int]: ...
    @property
    def in_sync_replicas(self) -> Sequence[int]: ...


def role_of(node_id: int, view: PartitionView) -> Role:
    """The role that the metadata give a node in a partition."""
    if node_id not in view.replicas:
        return Role.NOWHERE
    return Role.LEADER if view.leader_id == node_id else Role.FOLLOWER
