"""The configs of groups: plain values under Kafka's names.

Names are Kafka's with underscores for dots; times end in `_ms` as they do there. The broker fills
this from its configuration (Kafka's GroupCoordinatorConfig), the tests by hand.
"""

from msgspec import Struct

NO_LIMIT = 2_147_483_647


class GroupConfig(Struct, kw_only=True):
    """The group coordinator's configuration. Defaults are Apache Kafka 4.3's, except that a new
    group does not wait for more members: a test's first consumer should not wait for seconds.

    The assignment intervals may be set at any time and count from then on."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 0
    group_max_size: int = NO_LIMIT
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
    group_consumer_max_size: int = NO_LIMIT
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_regex_refresh_interval_ms: int = 600_000
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
    group_streams_max_size: int = NO_LIMIT
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
