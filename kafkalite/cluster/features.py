"""The features of an Apache Kafka 4.3 cluster: what is supported, and the level each starts at.

Clients read transaction.version, group.version and share.version to choose their protocols
(KIP-584, KIP-1022). kraft.version is not a record of the metadata log: it is 0 on a quorum whose
voters are fixed, as ours is.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final, TypeVar

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError

Level = TypeVar("Level")

METADATA_VERSION: Final = "metadata.version"
ELR_FEATURE: Final = "eligible.leader.replicas.version"
# By the type of groups. A type is served if its feature is finalized (KIP-848, 932, 1071).
GROUP_FEATURES: Final[Mapping[str, str]] = {
    "consumer": "group.version",
    "share": "share.version",
    "streams": "streams.version",
}

# name: (lowest, highest) level that can be finalized
SUPPORTED_FEATURES: Final[Mapping[str, tuple[int, int]]] = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}

# The levels of metadata.version that brought other records to the metadata log (didMetadataChange):
# there is no way back behind them.
_OTHER_RECORDS_SINCE: Final = (7, 8, 11, 13, 14, 15, 17, 23, 30)
# The levels that need another feature, and its level.
_NEEDS: Final[Mapping[tuple[str, int], tuple[str, int]]] = {
    (ELR_FEATURE, 1): (METADATA_VERSION, 23),
}

# In the order in which Kafka's StorageTool writes them.
BOOTSTRAP_FEATURES: Final[Mapping[str, int]] = {
    "metadata.version": 30,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}

# A client that sees the feature finalized will ask for these.
APIS_OF_FEATURES: Final[Mapping[str, frozenset[ApiKey]]] = {
    "group.version": frozenset(
        {ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE},
    ),
    "share.version": frozenset(
        {
            ApiKey.SHARE_GROUP_HEARTBEAT,
            ApiKey.SHARE_GROUP_DESCRIBE,
            ApiKey.SHARE_FETCH,
            ApiKey.SHARE_ACKNOWLEDGE,
        }
    ),
    "streams.version": frozenset(
        {ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_DESCRIBE},
    ),
}


def check_supported(finalized: Mapping[str, int]) -> None:
    """Refuse the metadata of a newer broker, as Kafka does. Raises KafkaError(UNSUPPORTED_VERSION).

    It may hold records that mean something else here.
    """
    for name, level in finalized.items():
        highest = SUPPORTED_FEATURES.get(name, (0, 0))[1]
        if level > highest:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{name} is finalized at level {level}, and supported up to {highest}",
            )


def loses_metadata(level: int, present: int) -> bool:
    """True if the metadata log of this level of metadata.version may have records that the lower
    one does not know."""
    return any(level < changed <= present for changed in _OTHER_RECORDS_SINCE)


def missing_level(name: str, level: int, finalized: Mapping[str, int]) -> tuple[str, int] | None:
    """The feature, and its level, without which this one cannot be finalized."""
    needed = _NEEDS.get((name, level))
    if needed is None or finalized.get(needed[0], 0) >= needed[1]:
        return None
    return needed


def of_served(features: Mapping[str, Level], served: Container[int]) -> dict[str, Level]:
    """The features of which every API is in `served`.

    A client that believes in a feature asks for its APIs, and stands still without an answer. A
    data directory of Apache Kafka may have features finalized that are not served here.
    """
    return {
        name: level
        for name, level in features.items()
        if all(key in served for key in APIS_OF_FEATURES.get(name, ()))
    }
