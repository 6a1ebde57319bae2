"""A topic's configs checked one by one and together, in the words of Kafka's LogConfig."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import filterfalse
from typing import Final

from kafkalite.config.definition import TOPIC_CONFIGS, ConfigError, ConfigValue

# The first of several bad values in this order is named: that of the definitions in Kafka's
# LogConfig.
_PARSED_IN_ORDER: Final = (
    "segment.bytes",
    "segment.ms",
    "segment.jitter.ms",
    "segment.index.bytes",
    "flush.messages",
    "flush.ms",
    "retention.bytes",
    "retention.ms",
    "max.message.bytes",
    "index.interval.bytes",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "min.cleanable.dirty.ratio",
    "cleanup.policy",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "preallocate",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "internal.segment.bytes",
)


def validate_topic_configs(overrides: Mapping[str, str]) -> None:
    """Check the configs of a topic, one by one and together (Kafka's LogConfig.validate).

    Raises ConfigError with Kafka's words.
    """
    # There may be very many.
    first_unknown = min(filterfalse(TOPIC_CONFIGS.__contains__, overrides), default=None)
    if first_unknown is not None:
        raise ConfigError(f"Unknown topic config name: {first_unknown}")
    values = {
        name: TOPIC_CONFIGS[name].parse(text)
        for name, text in sorted(
            overrides.items(), key=lambda item: _PARSED_IN_ORDER.index(item[0])
        )
    }
    if values.get("remote.storage.enable"):
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    _check_lags(values)


def _check_lags(values: Mapping[str, ConfigValue]) -> None:
    shortest = values.get("min.compaction.lag.ms", 0)
    longest = values.get("max.compaction.lag.ms", 1 << 63)
    assert isinstance(shortest, int)
    assert isinstance(longest, int)
    if shortest > longest:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > "
            f"max.compaction.lag.ms ({longest})"
        )
