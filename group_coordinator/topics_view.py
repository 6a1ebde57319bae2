"""The coordinator's view of the cluster's topics."""

from collections.abc import Iterable, Sequence
from typing import Protocol
from uuid import UUID


class TopicsView(Protocol):
    """The topics there are now. The implementation tells the coordinator of changes."""

    def partition_count(self, topic: str) -> int:
        """0 if there is no such topic."""
        ...

    def partition_racks(self, topic: str) -> Sequence[Sequence[str]]:
        """For each partition the racks of its replicas; empty if no broker has one."""
        ...

    def topic_id(self, topic: str) -> UUID | None: ...
    def topic_name(self, topic_id: UUID) -> str | None: ...
    def names(self) -> Iterable[str]: ...
