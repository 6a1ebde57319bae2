"""A partition that a consumer fetches, and what its session remembers of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from kafkalite.wire.messages.fetch import FetchPartitionRow, PartitionDataRow

NO_REPLICA: Final = -1
# It takes a tenth of a millisecond to free as many.
FREED_AT_ONCE: Final = 1024

TargetKey = tuple[str | UUID, int]


class FetchTarget:
    """One partition that is fetched: where from, and what its client was last told about it."""

    __slots__ = (
        "index",
        "known_as",
        "told_high_watermark",
        "told_log_start_offset",
        "topic",
        "topic_id",
        "wanted",
    )

    def __init__(self, topic: str, topic_id: UUID, index: int, wanted: FetchPartitionRow) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.wanted = wanted
        self.told_high_watermark = -1
        self.told_log_start_offset = -1
        # The name, if the client gives an id: a session says that the topic is gone.
        self.known_as = ""

    def must_tell(self, row: PartitionDataRow) -> bool:
        """True if an incremental response has to carry `row`."""
        _, code, high_watermark, _, log_start_offset, diverging, _, _, _, replica, records = row
        return (
            bool(records)
            or high_watermark != self.told_high_watermark
            or log_start_offset != self.told_log_start_offset
            or code != 0
            or replica != NO_REPLICA
            or diverging[0] >= 0
        )

    def remember(self, row: PartitionDataRow) -> None:
        """The client is told what `row` says."""
        # After an error the partition has to be mentioned again when the error is gone.
        self.told_high_watermark = -1 if row[1] else row[2]
        self.told_log_start_offset = row[4]


PartitionResponse = tuple[FetchTarget, "PartitionDataRow"]
PartitionResponses = list[PartitionResponse]


def key_of(target: FetchTarget, uses_topic_ids: bool) -> TargetKey:
    """The key by which a session knows a partition."""
    return (target.topic_id if uses_topic_ids else target.topic, target.index)


class DroppedTargets:
    """The partitions of sessions that are gone: they are freed little by little.

    There may be hundreds of thousands of them, which takes 30 ms. Each Fetch frees some of what
    those before it have left.
    """

    def __init__(self) -> None:
        self._left: list[dict[TargetKey, FetchTarget]] = []

    def add(self, targets: dict[TargetKey, FetchTarget]) -> None:
        """These are needed no more. The dict becomes empty in time."""
        if len(targets) > FREED_AT_ONCE:
            self._left.append(targets)

    def free_some(self) -> None:
        """Free a part of what is left, if there is any."""
        if not self._left:
            return
        targets = self._left[-1]
        for _ in range(min(len(targets), FREED_AT_ONCE)):
            targets.popitem()
        if not targets:
            self._left.pop()
