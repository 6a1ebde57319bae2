"""The records that were sent to a cluster while its brokers were killed, and their fate."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

PARTITIONS = 4

Place = tuple[int, int]  # partition, offset


@dataclass
class Outcome:
    """Records sent, acknowledged and found."""

    sent: int = 0
    acknowledged: dict[Place, bytes] = field(default_factory=dict[Place, bytes])
    # A batch whose answer is an error to be tried again, while the answer to a later one says that
    # it is there: librdkafka takes it for acknowledged and does not know its offset.
    acknowledged_somewhere: set[bytes] = field(default_factory=set[bytes])
    errors: list[str] = field(default_factory=list[str])
    found: dict[Place, bytes] = field(default_factory=dict[Place, bytes])
    faults: list[str] = field(default_factory=list[str])

    @property
    def lost(self) -> list[Place | bytes]:
        return [
            *(at for at, value in self.acknowledged.items() if self.found.get(at) != value),
            *self.acknowledged_somewhere.difference(self.found.values()),
        ]

    @property
    def duplicate_count(self) -> int:
        return len(self.found) - len(set(self.found.values()))

    @property
    def disorder_count(self) -> int:
        count = 0
        for partition in range(PARTITIONS):
            places = sorted(at for at in self.found if at[0] == partition)
            numbers = [int(self.found[at]) for at in places]
            count += sum(b < a for a, b in pairwise(numbers))
        return count

    def __str__(self) -> str:
        return (
            f"{len(self.faults)} faults, sent {self.sent}, acknowledged {len(self.acknowledged)}"
            f"+{len(self.acknowledged_somewhere)}, errors {len(self.errors)}, "
            f"lost {len(self.lost)}, twice {self.duplicate_count}, "
            f"out of order {self.disorder_count}"
        )
