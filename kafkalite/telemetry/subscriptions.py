"""Subscriptions: the metrics that a cluster asks of clients, by configs of their own.

Source of the rules: Kafka's ClientMetricsManager, ClientMetricsConfigs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from kafkalite.cluster.cluster import Subscriber
from kafkalite.cluster.image import MetadataImage
from kafkalite.config import CLIENT_METRICS_CONFIGS
from kafkalite.config.client_match import ClientMatch
from kafkalite.wire.api_keys import CLIENT_METRICS_RESOURCE
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.stored.config_record import ConfigRecord

_ALL: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class Subscription:
    """One resource: prefixes of metrics, the time between pushes, and whose clients they are."""

    metrics: tuple[str, ...]
    interval_ms: int
    match: ClientMatch


@dataclass(frozen=True, slots=True)
class Wanted:
    """The metrics asked of one client, by all subscriptions that match it.

    `version` is that of the subscriptions.
    """

    metrics: list[str]
    interval_ms: int
    version: int


class Metadata(Protocol):
    """The metadata as they are, and their changes."""

    image: MetadataImage

    def subscribe(self, subscriber: Subscriber) -> None:
        """Have `subscriber` called with the records of each change."""
        ...


class Subscriptions:
    """The subscriptions of a cluster. `version` grows with every change of one."""

    def __init__(self, cluster: Metadata) -> None:
        self.version = 0
        self._cluster = cluster
        self._read: list[Subscription] | None = None
        cluster.subscribe(self._changed)

    def _changed(self, records: Sequence[object]) -> None:
        if any(
            isinstance(record, ConfigRecord) and record.resource_type == CLIENT_METRICS_RESOURCE
            for record in records
        ):
            self.version += 1
            self._read = None

    def wanted_of(self, attributes: Mapping[str, str]) -> Wanted:
        """The metrics asked of a client with these attributes, in the order of Kafka's answer."""
        if self._read is None:
            self._read = self._subscriptions()
        matching = [each for each in self._read if each.match.matches(attributes)]
        metrics = in_map_order(name for each in matching for name in in_map_order(each.metrics))
        interval_ms = min((each.interval_ms for each in matching), default=DEFAULT_INTERVAL_MS)
        return Wanted(
            [_ALL] if _ALL in metrics else metrics,
            min(interval_ms, DEFAULT_INTERVAL_MS),
            self.version,
        )

    def _subscriptions(self) -> list[Subscription]:
        """In the order of Kafka's map, which decides between metrics of one hash."""
        configs = {
            name: configs
            for (kind, name), configs in self._cluster.image.configs.items()
            if kind == CLIENT_METRICS_RESOURCE
        }
        return [_subscription(configs[name]) for name in in_map_order(configs)]


def _subscription(configs: Mapping[str, str]) -> Subscription:
    values = {
        name: config.parse(configs.get(name, config.default))
        for name, config in CLIENT_METRICS_CONFIGS.items()
    }
    return Subscription(
        cast(tuple[str, ...], values["metrics"]),
        cast(int, values["interval.ms"]),
        ClientMatch(cast(tuple[str, ...], values["match"])),
    )
