"""The topology of a Kafka Streams application, and the partitions its topics need (KIP-1071).

A topology is made of subtopologies, each with source topics, repartition topics between them, and
changelogs of their state. The coordinator decides how many partitions the internal topics
(repartition topics and changelogs) get, says which of them are missing, and what is wrong with
those that are there.

Pure functions. Source: Kafka's InternalTopicManager, RepartitionTopics, ChangelogTopics,
CopartitionedTopicsEnforcer, StreamsTopology.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.stored.streams_group_topology import (
    StreamsGroupTopologyValue,
    Subtopology,
    TopicInfo,
)

_MOST_NAMES: Final = 3

PartitionCount = Callable[[str], int]
"""The number of partitions of a topic, 0 if there is none."""


class Status(IntEnum):
    """Status codes of StreamsGroupHeartbeatResponse, beside its error codes."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class TopologyProblem(Exception):
    """Topics are not as the topology needs them. It may pass: somebody creates them."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A repartition topic or changelog. `replication_factor` 0 is the broker's default."""

    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    """A subtopology with the numbers of partitions decided."""

    task_count: int
    source_topics: frozenset[str]
    repartition_source_topics: Mapping[str, InternalTopic]
    repartition_sink_topics: frozenset[str]
    changelogs: Mapping[str, InternalTopic]

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelogs)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    """A topology with what was found out of its topics. It is ready when there is no problem."""

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] = field(
        default_factory=dict[str, ConfiguredSubtopology]
    )
    missing: Mapping[str, InternalTopic] = field(default_factory=dict[str, InternalTopic])
    problem: TopologyProblem | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def required_topics(topology: StreamsGroupTopologyValue) -> frozenset[str]:
    """All that the topology reads, or keeps its state in."""
    return frozenset(_required(topology))


def _required(topology: StreamsGroupTopologyValue) -> Iterator[str]:
    for subtopology in topology.subtopologies:
        yield from source_names(subtopology)
        yield from (topic.name for topic in subtopology.state_changelog_topics)


def source_names(subtopology: Subtopology) -> Iterator[str]:
    """The topics that a subtopology reads, those of others and its own."""
    yield from subtopology.source_topics
    for topic in subtopology.repartition_source_topics:
        yield topic.name


def configure(topology: StreamsGroupTopologyValue, count_of: PartitionCount) -> ConfiguredTopology:
    """Decide how many partitions internal topics have.

    Raises KafkaError for what no topics could make good: STREAMS_INVALID_TOPOLOGY, and
    UNKNOWN_SERVER_ERROR where Kafka has no words for it.
    """
    joined = _joined_topics(topology)
    try:
        _check_sources(topology, count_of)
        decided = _decide(topology, joined, count_of)

        def count(topic: str) -> int:
            return count_of(topic) or decided.get(topic, 0)

        configured = {
            subtopology.subtopology_id: _configured(subtopology, count, decided)
            for subtopology in topology.subtopologies
        }
        missing = _missing(configured.values(), topology, count_of)
    except TopologyProblem as problem:
        return ConfiguredTopology(topology.epoch, problem=problem)
    if not missing:
        return ConfiguredTopology(topology.epoch, configured)
    detail = f"Internal topics are missing: {_some(missing)}"
    return ConfiguredTopology(
        topology.epoch,
        configured,
        missing,
        TopologyProblem(Status.MISSING_INTERNAL_TOPICS, detail),
    )


def _check_sources(topology: StreamsGroupTopologyValue, count_of: PartitionCount) -> None:
    missing = sorted(
        {
            name
            for subtopology in topology.subtopologies
            for name in subtopology.source_topics
            if not count_of(name)
        }
    )
    if missing:
        raise TopologyProblem(
            Status.MISSING_SOURCE_TOPICS, f"Source topics {_some(missing)} are missing."
        )


def _some(names: Collection[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(list(names)[:_MOST_NAMES])
    return f"{shown} and {more} additional topics" if more > 0 else shown


def _joined_topics(topology: StreamsGroupTopologyValue) -> list[set[str]]:
    """The topics of each copartition group."""
    found: list[set[str]] = []
    for subtopology in topology.subtopologies:
        repartitioned = [topic.name for topic in subtopology.repartition_source_topics]
        for group in subtopology.copartition_groups:
            names = _at(group.source_topics, subtopology.source_topics)
            found.append(names | _at(group.repartition_source_topics, repartitioned))
    return found


def _decide(
    topology: StreamsGroupTopologyValue, joined: Iterable[set[str]], count_of: PartitionCount
) -> dict[str, int]:
    decided = _repartition_counts(topology, count_of)

    def count(topic: str) -> int:
        return count_of(topic) or decided.get(topic, 0)

    repartition = [t for s in topology.subtopologies for t in s.repartition_source_topics]
    fixed = {topic.name for topic in repartition if topic.partitions}
    flexible = {topic.name for topic in repartition if not topic.partitions}
    for names in joined:
        decided.update(_copartitioned(names, fixed, flexible, count))
    changelogs: dict[str, int] = {}
    for subtopology in topology.subtopologies:
        sources = list(source_names(subtopology))
        if not sources:
            raise KafkaError(
                ErrorCode.STREAMS_INVALID_TOPOLOGY,
                f"No source topics found for subtopology {subtopology.subtopology_id}",
            )
        for changelog in subtopology.state_changelog_topics:
            changelogs[changelog.name] = max(map(count, sources))
    decided.update(changelogs)
    return decided


def _at(indexes: Collection[int], names: Sequence[str]) -> set[str]:
    """The names that a copartition group refers to."""
    if any(not 0 <= index < len(names) for index in indexes):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return {names[index] for index in indexes}


def _repartition_counts(
    topology: StreamsGroupTopologyValue, count_of: PartitionCount
) -> dict[str, int]:
    """A repartition topic gets as many partitions as the subtopology that writes it has tasks."""
    counts = {
        topic.name: topic.partitions
        for subtopology in topology.subtopologies
        for topic in subtopology.repartition_source_topics
        if topic.partitions
    }
    unknown = True
    while unknown:
        unknown = progress = False
        for subtopology in topology.subtopologies:
            for sink in subtopology.repartition_sink_topics:
                if sink in counts:
                    continue
                candidates = [
                    counts.get(topic.name, 0) for topic in subtopology.repartition_source_topics
                ]
                candidates += [count_of(name) for name in subtopology.source_topics]
                count = max(candidates, default=0)
                if count:
                    counts[sink] = count
                    progress = True
                else:
                    unknown = True
        if unknown and not progress:
            raise KafkaError(
                ErrorCode.STREAMS_INVALID_TOPOLOGY,
                "Failed to compute number of partitions for all repartition topics. There may be "
                "loops in the topology that cannot be resolved.",
            )
    for subtopology in topology.subtopologies:
        if any(topic.name not in counts for topic in subtopology.repartition_source_topics):
            raise KafkaError(
                ErrorCode.STREAMS_INVALID_TOPOLOGY,
                "Failed to compute number of partitions for all repartition topics, because a "
                "repartition source topic is never used as a sink topic.",
            )
    return counts


def _copartitioned(
    names: Collection[str], fixed: Collection[str], flexible: Collection[str], count: PartitionCount
) -> dict[str, int]:
    """The partition counts of the repartition topics that are joined with others."""
    repartition = {name: count(name) for name in names if name in fixed or name in flexible}
    external = {name: count(name) for name in names if name not in repartition}
    if external:
        wanted = _same(external.values(), external)
    elif fixed:
        wanted = _same((count(name) for name in fixed), repartition)
    else:
        wanted = max(repartition.values(), default=0)
    for name, found in repartition.items():
        if name in fixed and found != wanted:
            raise TopologyProblem(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Number of partitions [{found}] of repartition topic [{name}] doesn't match "
                f"number of partitions [{wanted}] of the source topic.",
            )
    return dict.fromkeys(repartition, wanted)


def _same(counts: Iterable[int], shown: Mapping[str, int]) -> int:
    distinct = set(counts)
    if len(distinct) > 1:
        pairs = ", ".join(f"{name}={count}" for name, count in sorted(shown.items()))
        raise TopologyProblem(
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{pairs}}}]",
        )
    return distinct.pop()


def _configured(
    subtopology: Subtopology, count: PartitionCount, decided: Mapping[str, int]
) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        max(map(count, source_names(subtopology))),
        frozenset(subtopology.source_topics),
        _internals(subtopology.repartition_source_topics, decided),
        frozenset(subtopology.repartition_sink_topics),
        _internals(subtopology.state_changelog_topics, decided),
    )


def _internals(
    topics: Collection[TopicInfo], decided: Mapping[str, int]
) -> dict[str, InternalTopic]:
    """Internal topics by name. Raises KafkaError for a name, or a config of one, that comes twice,
    and for one of less than one partition."""
    found = {topic.name: _internal(topic, decided) for topic in topics}
    if len(found) < len(topics):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return found


def _internal(topic: TopicInfo, decided: Mapping[str, int]) -> InternalTopic:
    count = topic.partitions or decided[topic.name]
    configs = {config.key: config.value for config in topic.topic_configs}
    if count < 1 or len(configs) < len(topic.topic_configs):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return InternalTopic(topic.name, count, topic.replication_factor, configs)


def _missing(
    configured: Iterable[ConfiguredSubtopology],
    topology: StreamsGroupTopologyValue,
    count_of: PartitionCount,
) -> dict[str, InternalTopic]:
    expected: dict[str, InternalTopic] = {}
    for subtopology in configured:
        expected.update(subtopology.repartition_source_topics)
        expected.update(subtopology.changelogs)
    expected = {name: expected[name] for name in in_map_order(expected)}  # as they are named
    for name in in_map_order(_required(topology)):  # the first that is wrong is named
        found = count_of(name)
        topic = expected.pop(name, None) if found else None
        if topic is not None and topic.partition_count != found:
            raise TopologyProblem(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected "
                f"{topic.partition_count}, found {found}",
            )
    return expected
