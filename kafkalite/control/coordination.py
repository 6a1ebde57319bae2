"""The coordinator of a group or of a transactional id, and what it assigns: the values of their
verbs. No broker is needed.
"""

from __future__ import annotations

from msgspec import Struct


class CoordinatorOf(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A group, or a transactional id."""

    group: str | None = None
    transaction: str | None = None


class MoveCoordinator(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A group or a transactional id, and the node that is to coordinate it: the next one in sync
    unless told.
    """

    group: str | None = None
    transaction: str | None = None
    to: int | None = None


class CoordinatorView(Struct, frozen=True):
    """The node that coordinates: the leader of a partition of a coordinators' topic."""

    node: int
    topic: str
    partition: int


class AssignGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """The partitions of each member, by topic. Members are named by member id, instance id or
    client id.
    """

    group: str
    assignment: dict[str, dict[str, list[int]]]
