"""The features of an Apache Kafka 4.3 cluster: what is supported, and the level each starts at.

Clients read transaction.version, group.version and share.version to choose their protocols
(KIP-584, KIP-1022). kraft.version is not a record of the metadata log: it is 0 on a quorum whose
voters are fixed, as ours is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

METADATA_VERSION: Final = "metadata.version"

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

# In the order in which Kafka's StorageTool writes them.
BOOTSTRAP_FEATURES: Final[Mapping[str, int]] = {
    "metadata.version": 30,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}
