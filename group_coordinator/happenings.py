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
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from kafkalite.group_coordinator.modern_group import FIRST_EPOCH, ModernGroup, ModernGroupState

_logger = logging.getLogger(__name__)

# The words of the log, by the kind and by what is known of it.
_LINES: Final[Mapping[str, str]] = {
    "group.joined": "member {member} joined",
    "group.left": "member {member} is gone",
    "group.expired": "member {member} is sent away",
    "rebalance.began": "rebalance at generation {generation}",
    "rebalance.ended": "generation {generation} has {members} member(s)",
}
_UNTOLD: Final = (frozenset[str](), FIRST_EPOCH, ModernGroupState.EMPTY)


class Watcher(Protocol):
    """Is told what happens."""

    def __call__(self, kind: str, why: str = "", /, **about: str | int) -> None: ...


class Happenings:
    """Tells the log, at INFO, and `watcher`, if there is one."""

    __slots__ = ("_known", "committed", "watcher")

    def __init__(self) -> None:
        self.watcher: Watcher | None = None
        # Is told of a group that has committed so many offsets, outside of transactions.
        self.committed: Callable[[str, int], None] | None = None
        # The members, the epoch and the state of modern groups, as they were told.
        self._known: WeakKeyDictionary[
            ModernGroup[Any, Any], tuple[frozenset[str], int, ModernGroupState]
        ] = WeakKeyDictionary()

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

    def changed(self, group: ModernGroup[Any, Any]) -> None:
        """A modern group was written: members that are new, and rebalances, are told."""
        if self.watcher is None and not _logger.isEnabledFor(logging.INFO):
            return
        name = group.group_id
        known, epoch, state = self._known.get(group, _UNTOLD)
        now = group.state
        self._known[group] = frozenset(group.members), group.epoch, now
        for member_id in group.members:
            if member_id not in known:
                self.tell("group.joined", name, member=member_id)
        is_settled = now in (ModernGroupState.STABLE, ModernGroupState.EMPTY)
        if group.epoch != epoch:
            self.tell("rebalance.began", name, generation=group.epoch)
        if is_settled and (group.epoch != epoch or state is not now):
            members = len(group.members)
            self.tell("rebalance.ended", name, generation=group.epoch, members=members)
