"""The life of a cluster and of its nodes: the values of the verbs of reset, restart and nodes. No
broker is needed.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kafkalite.control.faults.rule import Duration
from kafkalite.control.questions import NameText


class Reset(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A snapshot to begin with (`to`), what is to stay, and what becomes of open connections.

    "keep": those that no request is under way on stay open, if they have neither TLS nor SASL.
    """

    to: NameText | None = None
    keep: list[Literal["faults", "clock"]] = []
    connections: Literal["cut", "keep"] = "cut"


class RestoreSnapshot(Struct, frozen=True, forbid_unknown_fields=True):
    """A snapshot by its name; `clock`: the cluster's time is to be that of the snapshot, too."""

    snapshot: NameText
    clock: bool = False


class Restart(Struct, frozen=True, forbid_unknown_fields=True):
    """`unclean`: as after kill -9, so that the data is recovered."""

    unclean: bool = False


class NodeName(Struct, frozen=True, forbid_unknown_fields=True):
    """A node by its id."""

    node: int


class RestartNode(Struct, frozen=True, forbid_unknown_fields=True):
    """A node by its id, and the time that it is away."""

    node: int
    pause: Duration = "200ms"


class RollNodes(Struct, frozen=True, forbid_unknown_fields=True):
    """The time that each node is away."""

    pause: Duration = "200ms"


class MoveLeader(Struct, frozen=True, forbid_unknown_fields=True):
    """The node that is to lead a partition, or all: the next one in sync unless told."""

    topic: str
    partition: int | None = None
    to: int | None = None


class ConnectionName(Struct, frozen=True, forbid_unknown_fields=True):
    """A connection by its client's address and port."""

    connection: str
