"""Configs that choose by name or number among what there is.

Source: Kafka's GroupCoordinatorConfig, ShareCoordinatorConfig, BrokerServer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafkalite.config.definition import ConfigError
from kafkalite.wire.compression import Compression

# The one assignor that Kafka itself comes with, by its name and by its class.
SIMPLE_ASSIGNOR: Final = ("simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor")


def check_choices(assignors: Collection[str], codec: int) -> None:
    """Raises ConfigError for `group.share.assignors` or the codec of the state topic."""
    for name in assignors:
        if name not in SIMPLE_ASSIGNOR:
            raise ConfigError(f"group.share.assignors={name}: there is only {SIMPLE_ASSIGNOR[0]}")
    if len(assignors) != 1:
        raise ConfigError(
            f"group.share.assignors must contain exactly one assignor, but found {len(assignors)}"
        )
    if codec not in set(Compression):
        raise ConfigError(
            f"share.coordinator.state.topic.compression.codec={codec}: "
            f"Unknown compression type id: {codec}"
        )
