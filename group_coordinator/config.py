"""The configs of groups: plain values under Kafka's names.

Names are Kafka's with underscores for dots; times end in `_ms` as they do there. The broker fills
this from its configuration (Kafka's GroupCoordinatorConfig), the tests by hand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

_NO_LIMIT = 2_147_483_647


@dataclass(slots=True, kw_only=True)
class GroupConfig:
    """The group coordinator's configuration. Defaults are Apache Kafka 4.3's, except that nothing
    waits for companions that may come: a test's first consumer should not wait for seconds.

    The assignment intervals may be set at any time and count from then on."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 0
    group_max_size: int = _NO_LIMIT
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000

    rebalance_protocols: tuple[str, ...] = ("classic", "consumer", "streams")
    """`group.coordinator.rebalance.protocols`. Classic is served whether it is named or not."""
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_max_size: int = _NO_LIMIT
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_assignment_interval_ms: int = 0
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000

    group_share_session_timeout_ms: int = 45_000
    group_share_min_session_timeout_ms: int = 45_000
    group_share_max_session_timeout_ms: int = 60_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_min_heartbeat_interval_ms: int = 5_000
    group_share_max_heartbeat_interval_ms: int = 15_000
    group_share_max_size: int = 200
    group_share_assignment_interval_ms: int = 1_000
    group_share_min_assignment_interval_ms: int = 0
    group_share_max_assignment_interval_ms: int = 15_000
    group_share_initialize_retry_interval_ms: int = 30_000

    group_streams_session_timeout_ms: int = 45_000
    group_streams_min_session_timeout_ms: int = 45_000
    group_streams_max_session_timeout_ms: int = 60_000
    group_streams_heartbeat_interval_ms: int = 5_000
    group_streams_min_heartbeat_interval_ms: int = 5_000
    group_streams_max_heartbeat_interval_ms: int = 15_000
    group_streams_max_size: int = _NO_LIMIT
    group_streams_assignment_interval_ms: int = 1_000
    group_streams_min_assignment_interval_ms: int = 0
    group_streams_max_assignment_interval_ms: int = 15_000
    group_streams_num_standby_replicas: int = 0
    group_streams_max_standby_replicas: int = 2
    group_streams_initial_rebalance_delay_ms: int = 3_000

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000

    def max_size(self, group_type: str) -> int:
        """The most members of a consumer, share or streams group."""
        largest: int = getattr(self, f"group_{group_type}_max_size")
        return largest


class GroupOverrides:
    """The configs of single groups (dynamic group configs, KIP-848).

    `configs_of(group_id)` returns the group's own configs by their names.
    """

    def __init__(self, config: GroupConfig, configs_of: Callable[[str], Mapping[str, str]]) -> None:
        self._config = config
        self._configs_of = configs_of

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
        return overridden(
            self._configs_of(group_id),
            own_name,
            getattr(config, field),
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
            lambda: (0, _NO_LIMIT),
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
