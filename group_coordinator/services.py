"""GroupServices: everything that the rules of all groups of a coordinator share, as one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

from msgspec import Struct, field

from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.group_overrides import GroupOverrides
from kafkalite.group_coordinator.happenings import Happenings
from kafkalite.group_coordinator.state_log import StateRecord
from kafkalite.group_coordinator.timers import Timers
from kafkalite.group_coordinator.topics_view import TopicsView


class GroupServices(Struct, frozen=True, kw_only=True):
    """One coordinator's parts, by name.

    `sessions` follow the broker's clock. `phases` are rebalances, for which living members wait:
    they take real time whatever that clock says. `now_ms` is the wall clock in milliseconds.
    `save(group_id, records)` writes the records of a group, all or none. It raises KafkaError with
    the code to answer. `happenings` are told what befalls groups. `new_uuid` makes the ids of
    members.
    """

    config: GroupConfig
    overrides: GroupOverrides
    topics: TopicsView
    sessions: Timers
    phases: Timers
    now_ms: Callable[[], int]
    save: Callable[[str, Sequence[StateRecord]], None]
    happenings: Happenings = field(default_factory=Happenings)
    new_uuid: Callable[[], UUID] = uuid4
