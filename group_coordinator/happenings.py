"""Changes of groups and the reasons for them, told to the log and to a test that watches.

group.joined      a member came
group.left        a member went, or was sent away
group.expired     a member was not heard of, or did not do in time what it had to
rebalance.began   the members are to join again, or are assigned anew
rebalance.ended   each has what it is to have, as far as it is known
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from kafkalite.group_coordinator.modern_group import FIRST_EPOCH, ModernGroup, ModernGroupState
from kafkalite.log.loggers import logger_of

_logger = logger_of(__name__)

# The words of the log, by the kind and by what is known of it.
_LINES: Final[Mapping[str, str]] = {
    "group.joined": "member {member} joined",
    "group.left": "member {member} is gone",
    "group.expired": "member {member} is sent away",
    "rebalance.began": "rebalance at generation {generation}",
    "rebalance.ended": "generation {generation} has {members} member(s)",
}


class _Told(NamedTuple):
    """A modern group as it was told last. Its members are not compared: there may be thousands."""

    epoch: int = FIRST_EPOCH
    state: ModernGroupState = ModernGroupState.EMPTY
    metadata_hash: int = 0


_UNTOLD: Final = _Told()


class Watcher(Protocol):
    """Is told what happens."""

    def __call__(self, kind: str, why: str = "", /, **about: str | int) -> None: ...


class Happenings:
    """Tells the log, at INFO, and `watcher`, if there is one."""

    __slots__ = ("_known", "committed", "expired", "watcher")

    def __init__(self) -> None:
        self.watcher: Watcher | None = None
        # Is told of a group that has committed so many offsets; in a transaction, when that is.
        self.committed: Callable[[str, int], None] | None = None
        # Gets the group and the member of each that is sent away, while somebody asks.
        self.expired: list[tuple[str, str]] | None = None
        self._known: WeakKeyDictionary[ModernGroup[Any, Any], _Told] = WeakKeyDictionary()

    def tell(self, kind: str, group_id: str, why: str = "", **about: str | int) -> None:
        """Something happened to a group."""
        if _logger.isEnabledFor(logging.INFO):
            line = _LINES[kind].format_map(about)
            _logger.info("group %s: %s%s", group_id, line, f": {why}" if why else "")
        if self.watcher is not None:
            self.watcher(kind, why, group=group_id, **about)

    def gone(self, kind: str, group_id: str, why: str, *member_ids: str) -> None:
        """Members went."""
        for member_id in member_ids:
            self.tell(kind, group_id, why, member=member_id)
        if kind == "group.expired" and self.expired is not None:
            self.expired += [(group_id, member_id) for member_id in member_ids]

    def changed(self, group: ModernGroup[Any, Any]) -> None:
        """A modern group was written: members that are new, and rebalances, are told."""
        if self.watcher is None and not _logger.isEnabledFor(logging.INFO):
            return
        name, came, has_lost_some = group.group_id, group.came, group.has_lost_some
        group.came, group.has_lost_some = {}, False
        known = self._known.get(group, _UNTOLD)
        now = _Told(group.epoch, group.state, group.metadata_hash)
        self._known[group] = now
        for member_id in came:
            self.tell("group.joined", name, member=member_id)
        is_settled = now.state in (ModernGroupState.STABLE, ModernGroupState.EMPTY)
        if now.epoch != known.epoch:
            # The reason for another epoch, as far as the group itself shows it.
            why = "a member changed, or it was asked for"
            if came:
                why = "a member came"
            elif has_lost_some:
                why = "a member went"
            elif now.metadata_hash != known.metadata_hash:
                why = "topics came, changed or went"
            self.tell("rebalance.began", name, why, generation=now.epoch)
        if is_settled and (now.epoch != known.epoch or known.state is not now.state):
            members = len(group.members)
            self.tell("rebalance.ended", name, generation=now.epoch, members=members)
