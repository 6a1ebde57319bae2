"""Profiles: configs that belong together, under a name. What is set by itself wins over a
profile.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kafkalite.config.definition import ConfigError

# For tests, which have few members and no time: groups rebalance as fast as members can say so, and
# nothing goes away by itself.
_TEST: Final = {
    # The first member need not wait for others (Kafka: 3 s).
    "group.initial.rebalance.delay.ms": "0",
    # A member of the consumer protocol learns of a rebalance by its next heartbeat (Kafka: 5 s).
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "100",
    # A member that comes right after another is assigned at once, not after a second.
    "group.consumer.assignment.interval.ms": "0",
    # A test's groups and transactions are few; fewer partitions are made and read in no time.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    # Tests write records with times of years ago, which retention would take as soon as it looks.
    "log.retention.ms": "-1",
}

PROFILES: Final = MappingProxyType({"test": MappingProxyType(_TEST)})


def profile(name: str) -> dict[str, str]:
    """The configs of a profile. Raises ConfigError."""
    try:
        return dict(PROFILES[name])
    except KeyError:
        known = ", ".join(sorted(PROFILES))
        raise ConfigError(f"there is no profile {name!r} (there is: {known})") from None
