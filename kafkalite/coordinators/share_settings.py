"""The limits of share groups: their own configs, or else the broker's (KIP-932).

Source: Kafka's GroupConfig, ShareGroupConfig, ShareGroupConfigProvider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from kafkalite.group_coordinator.group_overrides import overridden
from kafkalite.replica.share.share_partition import ShareLimits
from kafkalite.wire.api_keys import EARLIEST, LATEST

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig

_NS_PER_MS: Final = 1_000_000


class ShareGroupSettings:
    """`configs_of(group_id)` returns a group's own configs by their names."""

    def __init__(
        self,
        config: BrokerConfig,
        configs_of: Callable[[str], Mapping[str, str]],
        now_ms: Callable[[], int],
    ) -> None:
        self._config = config
        self._configs_of = configs_of
        self._now_ms = now_ms

    def limits(self, group_id: str) -> ShareLimits:
        own = self._configs_of(group_id)
        renew = _text(own, "share.renew.acknowledge.enable", "true")
        return ShareLimits(
            record_lock_duration_seconds=self.record_lock_duration_ms(group_id) / 1000,
            delivery_count_limit=self._within(own, "delivery.count.limit"),
            partition_max_record_locks=self._within(own, "partition.max.record.locks"),
            renew_acknowledge_enable=renew.lower() == "true",
        )

    def record_lock_duration_ms(self, group_id: str) -> int:
        return self._within(self._configs_of(group_id), "record.lock.duration.ms")

    def _within(self, own: Mapping[str, str], name: str) -> int:
        integer = self._config.integer
        return overridden(
            own,
            f"share.{name}",
            integer(f"group.share.{name}"),
            lambda: (integer(f"group.share.min.{name}"), integer(f"group.share.max.{name}")),
        )

    def reset_timestamp_ms(self, group_id: str) -> int:
        """The offset to begin at, as ListOffsets has it: -1 latest, -2 earliest, or a timestamp."""
        reset = _text(self._configs_of(group_id), "share.auto.offset.reset", "latest")
        if reset == "latest":
            return LATEST
        if reset == "earliest":
            return EARLIEST
        from kafkalite.config.java_duration import duration_ns  # rarely needed

        return self._now_ms() - duration_ns(reset.partition(":")[2]) // _NS_PER_MS

    def reads_committed_only(self, group_id: str) -> bool:
        own = self._configs_of(group_id)
        return _text(own, "share.isolation.level", "read_uncommitted") == "read_committed"


def _text(own: Mapping[str, str], name: str, default: str) -> str:
    """A group's own config without the spaces around it, which are kept as they were said."""
    return own.get(name, default).strip()
