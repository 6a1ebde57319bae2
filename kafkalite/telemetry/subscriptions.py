"""Subscriptions: the metrics that a cluster asks of clients, by configs of their own.

Source of the rules: Kafka's ClientMetricsManager, ClientMetricsConfigs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from kafkalite.cluster.cluster import Subscriber
from kafkalite.cluster.image import MetadataImage
from kafkalite.config import CLIENT_METRICS_CONFIGS
from kafkalite.config.client_match import ClientMatch
from kafkalite.requests.slices import WaitingSteps, batches
from kafkalite.wire.api_keys import CLIENT_METRICS_RESOURCE
from kafkalite.wire.checksum import crc32c
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.stored.config_record import ConfigRecord

_ALL: Final = "*"
_KIND: Final = CLIENT_METRICS_RESOURCE
_MOST_KEPT: Final = 16
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

    `version` is that of the subscriptions; `checksum` is the CRC-32C of metrics and interval as
    Kafka writes them.
    """

    metrics: list[str]
    interval_ms: int
    version: int
    checksum: int = field(init=False)

    def __post_init__(self) -> None:
        written = f"[{', '.join(self.metrics)}]{self.interval_ms}"
        object.__setattr__(self, "checksum", crc32c(written.encode()))


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
        # By the numbers of the subscriptions that match: most clients are asked for the same.
        self._wanted: dict[tuple[int, ...], Wanted] = {}
        cluster.subscribe(self._changed)

    def _changed(self, records: Sequence[object]) -> None:
        if any(
            isinstance(record, ConfigRecord) and record.resource_type == _KIND for record in records
        ):
            self.version += 1
            self._read = None

    def finding_wanted(self, attributes: Mapping[str, str]) -> WaitingSteps[Wanted]:
        """The metrics asked of a client with these attributes, in the order of Kafka's answer."""
        version, read = self.version, self._read
        if read is None:
            read = yield from self._reading()
            if version == self.version:
                self._read, self._wanted = read, {}
        numbers: list[int] = []
        for number, each in enumerate(read):
            if each.match.matches(attributes):
                numbers.append(number)
            yield None
        key = tuple(numbers)
        wanted = self._wanted.get(key) if read is self._read else None
        if wanted is None:
            matching = [read[number] for number in numbers]
            found: list[Wanted] = []
            # A thread does it: to order thousands of names takes long.
            yield lambda: found.append(_together(matching, version))
            wanted = found[0]
            if read is self._read:
                if len(self._wanted) >= _MOST_KEPT:
                    self._wanted.clear()
                self._wanted[key] = wanted
        return wanted

    def _reading(self) -> WaitingSteps[list[Subscription]]:
        """In the order of Kafka's map, which decides between metrics of one hash."""
        configs: dict[str, Mapping[str, str]] = {}
        for some in batches(list(self._cluster.image.configs.items())):
            configs.update((name, each) for (kind, name), each in some if kind == _KIND)
            yield None
        found: list[Subscription] = []
        for name in in_map_order(configs):
            found.append(_subscription(configs[name]))
            yield None
        return found


def _together(matching: Sequence[Subscription], version: int) -> Wanted:
    metrics = in_map_order(name for each in matching for name in in_map_order(each.metrics))
    interval_ms = min((each.interval_ms for each in matching), default=DEFAULT_INTERVAL_MS)
    return Wanted(
        [_ALL] if _ALL in metrics else metrics, min(interval_ms, DEFAULT_INTERVAL_MS), version
    )


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
