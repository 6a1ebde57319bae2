"""The configs of single groups, which override the broker's (dynamic group configs, KIP-848)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from kafkalite.group_coordinator.config import NO_LIMIT, GroupConfig


class GroupOverrides:
    """The configs that count for a group.

    `configs_of(group_id)` returns the group's own configs by their names.
    """

    def __init__(self, config: GroupConfig, configs_of: Callable[[str], Mapping[str, str]]) -> None:
        self._config = config
        self._configs_of = configs_of

    def of(self, group_id: str) -> Mapping[str, str]:
        """The configs that a group has for itself."""
        return self._configs_of(group_id)

    def session_timeout_ms(self, group_type: str, group_id: str) -> int:
        return self._of_type(group_type, "session.timeout.ms", group_id)

    def heartbeat_interval_ms(self, group_type: str, group_id: str) -> int:
        return self._of_type(group_type, "heartbeat.interval.ms", group_id)

    def assignment_interval_ms(self, group_type: str, group_id: str) -> int:
        return self._of_type(group_type, "assignment.interval.ms", group_id)

    def _of_type(self, group_type: str, name: str, group_id: str) -> int:
        """`group.<type>.<name>`, between its `min` and its `max`."""
        config = self._config
        own_name, field, smallest, largest = _names(group_type, name)
        default: int = getattr(config, field)
        own = self._configs_of(group_id)
        if not own:  # of nearly every group, at each heartbeat
            return default
        return overridden(
            own,
            own_name,
            default,
            lambda: (getattr(config, smallest), getattr(config, largest)),
        )

    def streams_num_standby_replicas(self, group_id: str) -> int:
        return overridden(
            self._configs_of(group_id),
            "streams.num.standby.replicas",
            self._config.group_streams_num_standby_replicas,
            lambda: (0, self._config.group_streams_max_standby_replicas),
        )

    def streams_initial_rebalance_delay_ms(self, group_id: str) -> int:
        return overridden(
            self._configs_of(group_id),
            "streams.initial.rebalance.delay.ms",
            self._config.group_streams_initial_rebalance_delay_ms,
            lambda: (0, NO_LIMIT),
        )


@cache
def _names(group_type: str, name: str) -> tuple[str, str, str, str]:
    """A config's name in the configs of a group, and the fields for it, its min and its max."""
    return (
        f"{group_type}.{name}",
        f"group.{group_type}.{name}".replace(".", "_"),
        f"group.{group_type}.min.{name}".replace(".", "_"),
        f"group.{group_type}.max.{name}".replace(".", "_"),
    )


def overridden(
    own: Mapping[str, str], name: str, default: int, limits: Callable[[], tuple[int, int]]
) -> int:
    """A group's own config, or the default. A value outside the limits counts as the nearest
    inside, as in Kafka when the limits changed later."""
    chosen = own.get(name)
    if chosen is None:
        return default
    smallest, largest = limits()
    return min(max(int(chosen), smallest), largest)
