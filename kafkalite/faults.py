"""Actions of faults by short names, for Python: `fault("Produce", do=drop.after)`. Values, no
effects.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from kafkalite.control.faults.presets import preset
from kafkalite.control.faults.rule import Action, Dribble, LogNormal

__all__ = [
    "advance",
    "answer",
    "corrupt",
    "count",
    "cut",
    "delay",
    "dribble",
    "drop",
    "errno",
    "error",
    "expire",
    "fence",
    "hold",
    "lose",
    "move_coordinator",
    "move_leader",
    "patch",
    "preset",
    "random_delay",
    "rebalance",
    "repeat",
    "restart",
    "restart_node",
    "run",
    "short",
    "silence",
    "stop_node",
    "throttle",
]


At = Literal["before", "then", "beside"]


class drop:
    """The connection is closed, before the request is handled or after."""

    before: Final = Action(drop="before")
    after: Final = Action(drop="after")


class silence:
    """The request is never answered, nor anything after it; the connection stays."""

    before: Final = Action(silence="before")
    after: Final = Action(silence="after")


hold: Final = Action(hold=True)
count: Final = Action(count=True)


def error(
    code: str,
    *,
    message: str | None = None,
    apply: bool = False,
    only: Literal["matched", "all"] = "matched",
) -> Action:
    """An error, in the partitions that matched or in all; `apply`: after the request was done."""
    return Action(error=code, message=message, apply=apply, only=only)


def delay(by: str) -> Action:
    """The request waits, and what comes behind it on the connection."""
    return Action(delay=by)


def random_delay(median: str, sigma: float = 0.5) -> Action:
    """A delay that is log-normally distributed."""
    return Action(lognormal=LogNormal(median, sigma))


def cut(at: float, *, reset: bool = False) -> Action:
    """A part of the answer (below 1), or so many bytes of it; then the connection is closed."""
    return Action(cut=at, reset=reset)


def dribble(size: int = 1, every: str = "10ms") -> Action:
    """The answer comes in pieces."""
    return Action(dribble=Dribble(size, every))


def throttle(by: str) -> Action:
    """The client is told to wait, and its connection is not read for as long."""
    return Action(throttle=by)


def patch(changes: dict[str, Any]) -> Action:
    """Fields of the answer are others: `{"topics.*.partitions.*.leader_id": 7}`."""
    return Action(patch=changes)


def answer(fields: dict[str, Any]) -> Action:
    """This answer, and the request is not handled."""
    return Action(answer=fields)


def corrupt(what: Literal["crc", "length", "value"]) -> Action:
    """A byte of the first batch of a Fetch is another one; the log stays as it is."""
    return Action(corrupt=what)


def errno(name: str) -> Action:
    """An operation on a file fails: "EIO", "ENOSPC". Such a rule has `disk="write"` or the like."""
    return Action(errno=name)


def short(bytes: int) -> Action:
    """An operation on a file writes, or reads, so many bytes and no more."""
    return Action(short=bytes)


def repeat(times: int = 2) -> Action:
    """A batch that is produced is written so often, by another producer."""
    return Action(repeat=times)


def run(verb: str, *, at: At = "before", **arguments: Any) -> Action:
    """A verb is done at exactly this request: `run("nodes.stop", node=2)`.

    "beside": the request does not wait for it.
    """
    return Action(run=verb, at=at, arguments=arguments)


def move_leader(topic: str, partition: int | None = None, to: int | None = None) -> Action:
    """Another node leads a partition, or each, from this request on: the next in sync unless one
    is named.
    """
    return run("topics.lead", topic=topic, partition=partition, to=to)


def move_coordinator(
    *, group: str | None = None, transaction: str | None = None, to: int | None = None
) -> Action:
    """Another node coordinates a group, or a transactional id, from this request on."""
    return run("coordinators.move", group=group, transaction=transaction, to=to)


def stop_node(node: int, *, at: At = "before") -> Action:
    """A node dies at exactly this request."""
    return run("nodes.stop", at=at, node=node)


def restart_node(node: int, pause: str = "200ms", *, at: At = "before") -> Action:
    """A node dies at exactly this request, and comes back after a while."""
    return run("nodes.restart", at=at, node=node, pause=pause)


def restart(*, unclean: bool = False, at: At = "before") -> Action:
    """The broker is started again at exactly this request; `unclean`: as after kill -9.

    Otherwise it answers what is in flight first, this request among it.
    """
    return run("restart", at=at, unclean=unclean)


def rebalance(group: str) -> Action:
    """A group begins to rebalance at exactly this request."""
    return run("groups.rebalance", group=group)


def expire(group: str, member: str | None = None) -> Action:
    """A member of a group, or each, is let go as if nothing had been heard of it."""
    return run("groups.expire", group=group, member=member)


def fence(transactional_id: str) -> Action:
    """A transactional producer is fenced at exactly this request."""
    return run("transactions.fence", transaction=transactional_id)


def advance(by: str) -> Action:
    """Time moves on at exactly this request."""
    return run("clock.advance", by=by)


def lose(topic: str, partition: int = 0, to: int = -1) -> Action:
    """The records before an offset (-1: all) are lost at exactly this request."""
    return run("topics.lose", topic=topic, partition=partition, to=to)
