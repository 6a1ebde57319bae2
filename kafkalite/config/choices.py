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

# The assignors of the consumer protocol that Kafka itself comes with: what clients call them, by
# the texts that may stand in the config.
CONSUMER_ASSIGNORS: Final = {
    text: name
    for name, class_name in (("uniform", "UniformAssignor"), ("range", "RangeAssignor"))
    for text in (name, f"org.apache.kafka.coordinator.group.assignor.{class_name}")
}

# The persisters of share groups' states: to their topic, or, by either name, to nowhere.
STATES_IN_TOPIC: Final = "org.apache.kafka.server.share.persister.DefaultStatePersister"
STATES_NOWHERE: Final = ("org.apache.kafka.server.share.persister.NoOpStatePersister", "")


def keeps_share_states(config: BrokerConfig) -> bool:
    """False with a `group.share.persister.class.name` that keeps nothing."""
    return config.string("group.share.persister.class.name") == STATES_IN_TOPIC


def consumer_assignors(texts: Collection[str]) -> tuple[str, ...]:
    """The names of the assignors in `group.consumer.assignors`, the default one first.

    Raises ConfigError for one that there is not, and for one that is there twice.
    """
    for text in texts:
        if text not in CONSUMER_ASSIGNORS:
            raise ConfigError(f"group.consumer.assignors={text}: there are only uniform and range")
    names = tuple(CONSUMER_ASSIGNORS[text] for text in texts)
    if len(set(names)) < len(names):
        raise ConfigError(f"group.consumer.assignors={','.join(texts)}: one of them is there twice")
    return names


def check_choices(config: BrokerConfig) -> None:
    """Raises ConfigError for assignors of either kind, the codec of the topic of share states or
    `group.share.persister.class.name`."""
    consumer_assignors(config.items("group.consumer.assignors"))
    assignors = config.items("group.share.assignors")
    codec = config.integer("share.coordinator.state.topic.compression.codec")
    persister = config.string("group.share.persister.class.name")
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
