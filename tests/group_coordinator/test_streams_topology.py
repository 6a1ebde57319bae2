"""Partition counts of internal topics, missing topics, impossible topologies (KIP-1071)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkalite.group_coordinator.streams_topology import (
    ConfiguredTopology,
    Status,
    configure,
    required_topics,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.streams_group_topology import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicConfig,
    TopicInfo,
)


def info(name: str, partitions: int = 0) -> TopicInfo:
    return TopicInfo(name=name, partitions=partitions)


def sub(
    name: str = "0",
    *sources: str,
    sinks: tuple[str, ...] = (),
    repartition: tuple[TopicInfo, ...] = (),
    stores: tuple[TopicInfo, ...] = (),
    together: tuple[CopartitionGroup, ...] = (),
) -> Subtopology:
    return Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        repartition_sink_topics=list(sinks),
        repartition_source_topics=list(repartition),
        state_changelog_topics=list(stores),
        copartition_groups=list(together),
    )


def configured(counts: Mapping[str, int], *subs: Subtopology) -> ConfiguredTopology:
    topology = StreamsGroupTopologyValue(epoch=3, subtopologies=list(subs))
    return configure(topology, lambda name: counts.get(name, 0))


def test_a_task_for_each_partition_of_the_largest_source() -> None:
    found = configured({"a": 3, "b": 5}, sub("0", "a", "b"))
    assert found.is_ready
    assert (found.epoch, found.subtopologies["0"].task_count) == (3, 5)
    assert not found.subtopologies["0"].is_stateful


def test_internal_topics_follow_the_sources() -> None:
    subs = (
        sub("0", "a", sinks=("r",)),
        sub("1", repartition=(info("r"),), stores=(info("s"),)),
        sub("2", "a", stores=(info("t"),)),
    )
    found = configured({"a": 3}, *subs)
    assert {name: topic.partition_count for name, topic in found.missing.items()} == {
        "r": 3,
        "s": 3,
        "t": 3,
    }
    assert found.problem is not None
    assert found.problem.status is Status.MISSING_INTERNAL_TOPICS
    assert not found.is_ready
    ready = configured({"a": 3, "r": 3, "s": 3, "t": 3}, *subs)
    assert ready.is_ready
    assert not ready.missing
    assert ready.subtopologies["1"].task_count == 3
    assert ready.subtopologies["1"].is_stateful


def test_repartition_topics_one_after_another() -> None:
    found = configured(
        {"a": 4},
        sub("2", repartition=(info("r2"),), sinks=()),
        sub("1", repartition=(info("r1"),), sinks=("r2",)),
        sub("0", "a", sinks=("r1",)),
    )
    assert {name: topic.partition_count for name, topic in found.missing.items()} == {
        "r1": 4,
        "r2": 4,
    }


def test_a_number_that_was_said() -> None:
    found = configured({"a": 4}, sub("0", "a", sinks=("r",)), sub("1", repartition=(info("r", 7),)))
    assert found.missing["r"].partition_count == 7
    assert found.subtopologies["1"].task_count == 7


def test_configs_and_replicas_go_with_the_topic() -> None:
    store = TopicInfo(
        name="s", replication_factor=2, topic_configs=[TopicConfig(key="k", value="v")]
    )
    topic = configured({"a": 1}, sub("0", "a", stores=(store,))).missing["s"]
    assert (topic.replication_factor, topic.configs) == (2, {"k": "v"})


TOGETHER = (CopartitionGroup(source_topics=[0], repartition_source_topics=[0]),)


def test_what_is_joined_has_as_many_partitions() -> None:
    found = configured(
        {"a": 6, "b": 2},
        sub("0", "b", sinks=("r",)),
        sub("1", "a", repartition=(info("r"),), together=TOGETHER),
    )
    assert found.missing["r"].partition_count == 6


@pytest.mark.parametrize(
    ("counts", "subs", "status"),
    [
        ({}, [sub("0", "a")], Status.MISSING_SOURCE_TOPICS),
        (
            {"a": 2, "b": 3},
            [sub("0", "a", "b", together=(CopartitionGroup(source_topics=[0, 1]),))],
            Status.INCORRECTLY_PARTITIONED_TOPICS,
        ),
        (
            {"a": 2, "b": 2},
            [
                sub("0", "b", sinks=("r",)),
                sub("1", "a", repartition=(info("r", 3),), together=TOGETHER),
            ],
            Status.INCORRECTLY_PARTITIONED_TOPICS,
        ),
        (
            {"a": 2, "s": 3},
            [sub("0", "a", stores=(info("s"),))],
            Status.INCORRECTLY_PARTITIONED_TOPICS,
        ),
        ({"a": 2}, [sub("0", "a", stores=(info("s"),))], Status.MISSING_INTERNAL_TOPICS),
    ],
)
def test_what_may_pass(counts: dict[str, int], subs: list[Subtopology], status: Status) -> None:
    problem = configured(counts, *subs).problem
    assert problem is not None
    assert problem.status is status


@pytest.mark.parametrize(
    ("subs", "code"),
    [
        ([sub("0", sinks=("r",), repartition=(info("r"),))], ErrorCode.STREAMS_INVALID_TOPOLOGY),
        ([sub("0", "a", repartition=(info("r"),))], ErrorCode.STREAMS_INVALID_TOPOLOGY),
        ([sub("0", stores=(info("s"),))], ErrorCode.STREAMS_INVALID_TOPOLOGY),
        (
            [sub("0", "a", together=(CopartitionGroup(source_topics=[9]),))],
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
        (
            [sub("0", "a", together=(CopartitionGroup(source_topics=[-1]),))],
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
    ],
)
def test_what_no_topics_make_good(subs: list[Subtopology], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        configured({"a": 2}, *subs)
    assert refused.value.code is code


@pytest.mark.parametrize(
    "odd",
    [
        sub("0", "a", repartition=(info("r", -1),)),
        sub("0", "a", repartition=(info("r", 2), info("r", 2))),
        sub("0", "a", stores=(info("s"), info("s"))),
        sub("0", "a", stores=(TopicInfo("s", topic_configs=[TopicConfig("k", "1")] * 2),)),
    ],
)
def test_an_internal_topic_that_cannot_be(odd: Subtopology) -> None:
    with pytest.raises(KafkaError) as refused:
        configured({"a": 3}, odd)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_copartition_group_is_looked_at_before_the_sources() -> None:
    beyond = sub("0", "a", together=(CopartitionGroup(source_topics=[7]),))
    with pytest.raises(KafkaError) as refused:
        configured({}, beyond)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_source_may_be_named_twice() -> None:
    twice = sub("0", "a", "a", together=(CopartitionGroup(source_topics=[0, 1]),))
    assert configured({"a": 3}, twice).subtopologies["0"].task_count == 3


def test_three_names_are_enough() -> None:
    problem = configured({}, sub("0", "e", "d", "c", "b", "a")).problem
    assert str(problem) == "Source topics a, b, c and 2 additional topics are missing."


def test_what_is_required() -> None:
    topology = StreamsGroupTopologyValue(
        epoch=0,
        subtopologies=[
            sub("0", "a", sinks=("out",), repartition=(info("r"),), stores=(info("s"),))
        ],
    )
    assert required_topics(topology) == {"a", "r", "s"}


def test_of_several_topics_that_do_not_fit_the_first_of_javas_set_is_named() -> None:
    stores = [f"s{number}" for number in range(10)]
    found = configured(
        {"a": 2, **dict.fromkeys(stores, 3)}, sub("0", "a", stores=tuple(map(info, stores)))
    )
    assert found.problem is not None
    assert "Existing topic s3 has different number" in str(found.problem)
