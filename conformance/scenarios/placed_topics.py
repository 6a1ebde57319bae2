"""Topics whose replicas are placed by hand."""

from __future__ import annotations

from confluent_kafka.admin import NewTopic


def placed_topic(
    name: str, replicas: list[list[int]], config: dict[str, str] | None = None
) -> NewTopic:
    """A topic to be created, with the replicas of each partition; the first of them leads."""
    return NewTopic(
        name, num_partitions=len(replicas), replica_assignment=replicas, config=config or {}
    )
