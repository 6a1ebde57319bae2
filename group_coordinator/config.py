"""What an operator can choose about groups: plain values under Kafka's names.

Names are Kafka's with underscores for dots; times end in `_ms` as they do there. The broker fills
this from its configuration (Kafka's GroupCoordinatorConfig), the tests by hand.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The group coordinator's configuration. Defaults are Apache Kafka 4.3's, but for one:
    the initial rebalance delay is 0, because a test's first consumer should not wait three
    seconds for companions that will not come."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 0
    group_max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000

    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_max_size: int = 2_147_483_647
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_consumer_assignment_interval_ms: int = 1_000

    classic_new_member_join_timeout_ms: int = field(default=300_000)
    """How long a new member may wait in a JoinGroup before it is taken for gone. A constant in
    Kafka: its connection is muted meanwhile, so that its going cannot be seen."""

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000
