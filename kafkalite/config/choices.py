"""Configs that choose by name or number among what there is.

Source: Kafka's GroupCoordinatorConfig, ShareCoordinatorConfig, BrokerServer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from kafkalite.config.definition import ConfigError
from kafkalite.wire.compression import Compression

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig

# The one assignor that Kafka itself comes with, by its name and by its class.
SIMPLE_ASSIGNOR: Final = ("simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor")

# The persisters of share groups' states: to their topic, or, by either name, to nowhere.
STATES_IN_TOPIC: Final = "org.apache.kafka.server.share.persister.DefaultStatePersister"
STATES_NOWHERE: Final = ("org.apache.kafka.server.share.persister.NoOpStatePersister", "")


def keeps_share_states(config: BrokerConfig) -> bool:
    """False with a `group.share.persister.class.name` that keeps nothing."""
    return config.string("group.share.persister.class.name") == STATES_IN_TOPIC


def check_choices(assignors: Collection[str], codec: int, persister: str | None) -> None:
    """Raises ConfigError for `group.share.assignors`, the codec of the state topic or
    `group.share.persister.class.name`."""
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
    if persister not in (STATES_IN_TOPIC, *STATES_NOWHERE):
        raise ConfigError(
            f"group.share.persister.class.name={persister}: Unknown persister specified {persister}"
        )
