"""Shapes of requests: a table that anyone can add to, and shapes that a seed draws.

A shape is an API and all that a client chooses about it: the version, how many topics and
partitions, connections, and what else is named in `Shape`. Bars hold for every shape, so a run
measures one that no one chose: `python -m conformance.benchmarks --shape SEED`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Shape:
    """One kind of request. Options that an API does not have are left at their defaults."""

    api: str
    version: int
    topics: int = 1
    partitions: int = 1  # of each topic
    connections: int = 8
    in_flight: int = 1
    acks: int = field(default=-1, metadata={"of": "produce"})
    producer: str = field(default="plain", metadata={"of": "produce"})
    records: int = field(default=1, metadata={"of": "produce"})
    record_bytes: int = field(default=10, metadata={"of": "produce"})
    compacted: bool = field(default=False, metadata={"of": "produce"})
    in_session: bool = field(default=False, metadata={"of": "fetch"})
    read_committed: bool = field(default=False, metadata={"of": "fetch"})
    aborted: int = field(default=0, metadata={"of": "fetch"})  # transactions before the record
    all_topics: bool = field(default=False, metadata={"of": "metadata"})

    @property
    def name(self) -> str:
        """A name of its own in the table of measures."""
        return "shape-" + "-".join(self._words()).replace(" ", "-").replace("=", "-")

    @property
    def title(self) -> str:
        """Its line in the document."""
        return ", ".join(self._words())

    def _words(self) -> list[str]:
        words = [f"{self.api} v{self.version}"]
        if self.api in ("metadata", "describe_configs") and self.topics > 1:
            which = "all of " if self.all_topics else ""
            each = f" of {self.partitions} partitions" if self.partitions > 1 else ""
            words.append(f"{which}{self.topics} topics{each}")
        if self.api in _WITH_PARTITIONS:
            words.append(f"{self.topics}x{self.partitions} partitions")
        if self.api == "produce":
            acks = "all" if self.acks == -1 else self.acks
            words += [f"acks={acks}", self.producer, f"{self.records}x{self.record_bytes} B"]
        words += ["to compacted topics"] if self.compacted else []
        words += ["in a session"] if self.in_session else []
        words += ["read_committed"] if self.read_committed else []
        words += [f"{self.aborted} aborted transactions"] if self.aborted else []
        words.append(f"{self.connections} connections")
        words += [f"{self.in_flight} in flight"] if self.in_flight > 1 else []
        return words


# The versions that a client may ask for, first and last.
VERSIONS: Final[dict[str, tuple[int, int]]] = {
    "produce": (3, 13),
    "fetch": (4, 18),
    "metadata": (0, 13),
    "list_offsets": (1, 11),
    "find_coordinator": (0, 6),
    "offset_commit": (2, 10),
    "offset_fetch": (1, 10),
    "heartbeat": (0, 4),
    "sync_group": (0, 5),
    "consumer_group_heartbeat": (0, 1),
    "txn_offset_commit": (0, 5),
    "end_txn": (0, 4),
    "add_partitions_to_txn": (0, 3),
    "join_group": (0, 9),
    "create_topics": (2, 7),
    "describe_configs": (1, 4),
    "describe_topic_partitions": (0, 0),
    "offset_for_leader_epoch": (2, 4),
    "list_groups": (0, 5),
}
_WITH_PARTITIONS: Final = frozenset(
    {
        *("produce", "fetch", "list_offsets", "offset_commit", "offset_fetch"),
        *("txn_offset_commit", "add_partitions_to_txn"),
        *("describe_topic_partitions", "offset_for_leader_epoch"),
    }
)
# Transactional batches came with version 3, sessions with 7.
_FIRST_WITH_SESSIONS: Final = 7
# Topics, and the partitions of each.
_PARTITIONS: Final = (
    *((1, 1), (1, 1), (1, 16), (4, 1), (4, 16), (1, 50), (3, 7)),
    *((1, 300), (50, 16), (200, 1)),
)
_MANY_PARTITIONS: Final = 64
_CONNECTIONS: Final = ((1, 1), (8, 1), (8, 16), (100, 1))


def drawn(seed: int) -> Shape:
    """The shape that a seed draws: Produce and Fetch in half of all."""
    luck = random.Random(seed)
    api = luck.choice(
        ["produce", "fetch", luck.choice(list(VERSIONS)), luck.choice(list(VERSIONS))]
    )
    first, last = VERSIONS[api]
    version = luck.randint(first, last)
    connections, in_flight = luck.choice(_CONNECTIONS)
    topics, partitions = luck.choice(_PARTITIONS)
    if api not in _WITH_PARTITIONS:
        topics, partitions = 1, 1
    more = _OPTIONS.get(api, lambda _luck, _version: {})(luck, version)
    if api == "produce" and topics * partitions > _MANY_PARTITIONS:
        more |= {"records": 1, "record_bytes": 10}  # a hundred connections send it, too
    return Shape(api, version, topics, partitions, connections, in_flight, **more)


def _of_produce(luck: random.Random, _version: int) -> dict[str, object]:
    return {
        "acks": luck.choice([0, 1, -1]),
        "producer": luck.choice(["plain", "idempotent", "transactional"]),
        "records": luck.choice([1, 1, 1, 10]),
        "record_bytes": luck.choice([10, 100, 1000]),
    }


def _of_fetch(luck: random.Random, version: int) -> dict[str, object]:
    return {
        "in_session": version >= _FIRST_WITH_SESSIONS and luck.choice([False, True]),
        "read_committed": luck.choice([False, True]),
        "aborted": luck.choice([0, 0, 0, 20]),
    }


_Options = Callable[[random.Random, int], dict[str, object]]
_OPTIONS: Final[dict[str, _Options]] = {"produce": _of_produce, "fetch": _of_fetch}

# The shapes of every run. A line here is a row of the document.
SHAPES: Final = (
    Shape("produce", 8),
    Shape("produce", 3, acks=1, connections=100),
    Shape("produce", 13, partitions=16),
    Shape("produce", 9, topics=4, partitions=16, acks=1),
    Shape("produce", 9, partitions=300),
    Shape("produce", 11, acks=0, in_flight=16),
    Shape("produce", 12, producer="idempotent"),
    Shape("produce", 12, producer="transactional", partitions=16),
    Shape("produce", 9, compacted=True),
    Shape("fetch", 4),
    Shape("fetch", 11, in_session=True),
    Shape("fetch", 18, partitions=50, in_session=True),
    Shape("fetch", 17, partitions=50),
    Shape("fetch", 12, topics=50, partitions=16),
    Shape("fetch", 16, read_committed=True),
    Shape("fetch", 12, read_committed=True, aborted=20),
    Shape("metadata", 12),
    Shape("metadata", 12, topics=100),
    Shape("metadata", 12, topics=1000),
    Shape("metadata", 12, topics=300, partitions=4, all_topics=True),
    Shape("list_offsets", 7, partitions=16),
    Shape("list_offsets", 11, topics=4, partitions=16),
    Shape("list_offsets", 7, partitions=1000),
    Shape("find_coordinator", 4),
    Shape("offset_commit", 2, partitions=16),
    Shape("offset_commit", 8),
    Shape("offset_commit", 10),
    Shape("offset_commit", 8, topics=4, partitions=16),
    Shape("offset_commit", 8, partitions=1000),
    Shape("offset_fetch", 1),
    Shape("offset_fetch", 9, partitions=16),
    Shape("offset_fetch", 10, topics=4, partitions=16),
    Shape("heartbeat", 2),
    Shape("heartbeat", 4),
    Shape("join_group", 9),
    Shape("sync_group", 5),
    Shape("txn_offset_commit", 3),
    Shape("txn_offset_commit", 5, partitions=16),
    Shape("end_txn", 3),
    Shape("add_partitions_to_txn", 3, partitions=16),
    Shape("add_partitions_to_txn", 3, topics=4, partitions=16),
    Shape("consumer_group_heartbeat", 1),
    Shape("create_topics", 7),
    Shape("describe_configs", 4),
    Shape("describe_configs", 4, topics=50),
    Shape("describe_topic_partitions", 0, topics=10, partitions=16),
    Shape("offset_for_leader_epoch", 4, partitions=16),
    Shape("list_groups", 5),
)
