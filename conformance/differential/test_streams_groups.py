"""Streams groups (KIP-1071): heartbeats, topologies, tasks, description."""

from __future__ import annotations

import time

from conformance.differential.comparison import Pair
from conformance.differential.group_requests import ask_in_other_protocols, beat_as_consumer
from conformance.differential.share_requests import configure
from conformance.differential.streams_requests import (
    BEAT,
    beat,
    commit,
    counting,
    describe,
    fetch,
    join,
    joining,
    owning,
    source,
    stateless,
    topology,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
)

__all__ = ["source"]  # the fixture


def test_what_is_refused_of_a_heartbeat(pair: Pair, group: str, source: str) -> None:
    plain = topology(stateless(source))
    with_regex = topology(Subtopology(subtopology_id="0", source_topic_regex=["a.*"]))
    store = TopicInfo(name="store", partitions=3)
    fixed = topology(Subtopology(subtopology_id="0", state_changelog_topics=[store]))
    some = [TaskIds(subtopology_id="0", partitions=[0])]
    offset = [TaskOffset(subtopology_id="0")]
    for fields in (
        {"group_id": ""},
        {"group_id": " "},
        {"instance_id": "i"},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topology": None},
        {"topology": with_regex},
        {"topology": fixed},
        {"topology": topology(stateless("__consumer_offsets"))},
        {"topology": topology(stateless("a b"))},
        {"topology": topology(stateless("a b"), stateless("c d", "1"))},
        {"active_tasks": some},
        {"standby_tasks": some},
        {"warmup_tasks": some},
        {"active_tasks": None},
        {"task_offsets": offset},
        {"task_end_offsets": offset},
        {"member_epoch": -3},
        {"member_epoch": -2, "topology": None},
        {"member_epoch": -1, "topology": None},
        {"member_epoch": 1},
        {"member_epoch": 1, "topology": None},
    ):
        join(pair, group, "m-1", **{"topology": plain} | fields)
    join(pair, group, "", plain)
    describe(pair, group, "nil", "")


def test_members_come_and_go(pair: Pair, group: str, source: str) -> None:
    plain = topology(stateless(source))
    tags = [KeyValue(key="zone", value="a")]
    join(pair, group, "m-1", plain, client_tags=tags, rack_id="r")
    describe(pair, group)
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1, 2, 3]))
    beat(pair, group, member_epoch=2)
    beat(pair, group, member_epoch=1)
    beat(pair, group, member_epoch=9)
    beat(pair, group, "m-2", member_epoch=1)
    beat(pair, group, "m-2", member_epoch=-1)
    join(pair, group, "m-2", plain)
    describe(pair, group)
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1, 2, 3]))
    describe(pair, group)
    beat(pair, group, "m-2", member_epoch=3, **owning())
    beat(pair, group, member_epoch=2)
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1]))
    describe(pair, group)
    beat(pair, group, "m-2", member_epoch=3)
    beat(pair, group, member_epoch=3)
    describe(pair, group)
    beat(pair, group, member_epoch=3, **owning(_0=[9]))
    beat(pair, group, member_epoch=3, **owning(_7=[0]))
    for types in ([], ["streams"], ["consumer"]):
        request = ListGroupsRequest(types_filter=types, states_filter=["stable"])
        found = [
            [
                each
                for each in side.ask(ApiKey.LIST_GROUPS, 5, request).groups
                if each.group_id == group
            ]
            for side in pair.sides
        ]
        pair.compare("LIST_GROUPS v5", *found, api=ApiKey.LIST_GROUPS, version=5)
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    beat(pair, group, "m-1", member_epoch=-1)
    describe(pair, group)
    beat(pair, group, "m-2", member_epoch=3)
    beat(pair, group, "m-2", member_epoch=-1)
    describe(pair, group)
    join(pair, group, "m-3", plain)
    beat(pair, group, "m-3", member_epoch=-1)
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))
    describe(pair, group)


def test_a_member_joins_again(pair: Pair, group: str, source: str) -> None:
    plain = topology(stateless(source))
    join(pair, group, "m-1", plain)
    join(pair, group, "m-1", plain)
    join(pair, group, "m-1", plain, process_id="another", rebalance_timeout_ms=50_000)
    describe(pair, group)
    join(pair, group, "m-1", topology(stateless(source), epoch=1))
    join(pair, group, "m-1", topology(stateless("another")))
    ahead = f"{group}-ahead"
    join(pair, ahead, "m-1", topology(stateless(source), epoch=1))
    join(pair, ahead, "m-2", plain)
    describe(pair, group, ahead)


def test_a_member_is_one_epoch_behind(pair: Pair, group: str, source: str) -> None:
    """It may be if it names its tasks, and none but those that it was given."""
    plain = topology(stateless(source))
    join(pair, group, "m-1", plain)
    join(pair, group, "m-2", plain)
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1, 2, 3]))
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1]))
    for fields in (
        owning(_0=[0, 1]),
        owning(_0=[1]),
        owning(_0=[]),
        owning(),
        owning(_0=[0, 2]),
        owning(_1=[]),
        owning() | {"standby_tasks": [TaskIds(subtopology_id="0")]},
        {},
    ):
        beat(pair, group, member_epoch=2, **fields)
    describe(pair, group)


def test_internal_topics_are_created(pair: Pair, group: str, source: str) -> None:
    counts = topology(*counting(source))
    join(pair, group, "m-1", counts)
    describe(pair, group)
    pair.settle()
    time.sleep(0.5)
    beat(pair, group, member_epoch=2, **owning())
    describe(pair, group)
    beat(pair, group, member_epoch=3, **owning())
    join(pair, group, "m-2", counts)
    join(pair, group, "m-3", counts, process_id="process-of-m-2")
    describe(pair, group)


def test_topics_that_are_not_there(pair: Pair, group: str, topic: str) -> None:
    counts = topology(*counting(topic))
    join(pair, group, "m-1", counts)
    join(pair, group, "m-2", topology(*counting(topic)))
    describe(pair, group)
    pair.create_topic(topic, 2)
    pair.settle()
    beat(pair, group, member_epoch=2, **owning())
    pair.settle()
    time.sleep(0.5)
    beat(pair, group, member_epoch=3, **owning())
    describe(pair, group)


def test_a_source_that_grows(pair: Pair, group: str, source: str) -> None:
    join(pair, group, "m-1", topology(stateless(source)))
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=source, count=6, assignments=None)], timeout_ms=5000
    )
    pair.ask(ApiKey.CREATE_PARTITIONS, 3, grown)
    pair.settle()
    time.sleep(0.5)
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1, 2, 3]))
    describe(pair, group)


def test_topics_that_do_not_fit(pair: Pair, group: str, source: str, topic: str) -> None:
    other = f"{topic}-other"
    pair.create_topic(other, 3)
    pair.create_topic(f"{topic}-wrong", 1)
    pair.settle()
    together = [CopartitionGroup(source_topics=[0, 1])]
    joined = Subtopology(
        subtopology_id="0", source_topics=[source, other], copartition_groups=together
    )
    join(pair, group, "m-1", topology(joined))
    wrong = TopicInfo(name=f"{topic}-wrong")
    stateful = Subtopology(
        subtopology_id="0", source_topics=[source], state_changelog_topics=[wrong]
    )
    join(pair, f"{group}-2", "m-1", topology(stateful))
    describe(pair, group, f"{group}-2")
    loop = Subtopology(
        subtopology_id="0",
        repartition_sink_topics=["round"],
        repartition_source_topics=[TopicInfo(name="round")],
    )
    join(pair, f"{group}-3", "m-1", topology(loop))
    missing = Subtopology(
        subtopology_id="0", source_topics=[source], repartition_source_topics=[TopicInfo(name="r")]
    )
    join(pair, f"{group}-4", "m-1", topology(missing))
    refused = TopicInfo(
        name=f"{topic}-store", topic_configs=[KeyValue(key="no.such.config", value="1")]
    )
    stateful = Subtopology(
        subtopology_id="0", source_topics=[source], state_changelog_topics=[refused]
    )
    # Apache Kafka says why no sooner than in the second answer.
    request = joining(f"{group}-5", "m-1", topology(stateful))
    for side in pair.sides:
        side.until(BEAT, 0, request, lambda answer: "failed" in answer.status[0].status_detail)
    join(pair, f"{group}-5", "m-1", topology(stateful))


def test_standbys_and_endpoints(pair: Pair, group: str, source: str) -> None:
    configure(pair, group, **{"streams.num.standby.replicas": "1"})
    store = TopicInfo(name=f"{source}-store")
    stateful = topology(
        Subtopology(subtopology_id="0", source_topics=[source], state_changelog_topics=[store])
    )
    join(pair, group, "m-1", stateful, user_endpoint=Endpoint(host="one", port=1))
    pair.settle()
    time.sleep(0.5)
    join(pair, group, "m-1", stateful, user_endpoint=Endpoint(host="one", port=1))
    join(pair, group, "m-2", stateful, user_endpoint=Endpoint(host="two", port=2))
    beat(pair, group, member_epoch=3, endpoint_information_epoch=0, **owning(_0=[0, 1, 2, 3]))
    beat(pair, group, member_epoch=3, endpoint_information_epoch=1, **owning(_0=[0, 1]))
    beat(pair, group, "m-2", member_epoch=4, endpoint_information_epoch=1, **owning())
    beat(pair, group, "m-2", member_epoch=4, endpoint_information_epoch=9, **owning(_0=[2, 3]))
    describe(pair, group)


def test_standbys_of_two_members_in_one_process(pair: Pair, group: str, source: str) -> None:
    """One gives up standbys: they are free in the process, though the other has them, too."""
    configure(pair, group, **{"streams.num.standby.replicas": "2"})
    store = TopicInfo(name=f"{source}-store")
    pair.create_topic(store.name, 4)
    pair.settle()
    stateful = topology(
        Subtopology(subtopology_id="0", source_topics=[source], state_changelog_topics=[store])
    )
    for member_id in ("m-1", "m-2", "m-3"):
        join(pair, group, member_id, stateful)
    beat(pair, group, "m-1", member_epoch=-1)
    join(pair, group, "m-2", stateful, process_id="process-of-m-3")
    beat(pair, group, "m-2", member_epoch=6, **owning())
    join(pair, group, "m-3", stateful, rebalance_timeout_ms=50_000)
    describe(pair, group)
    beat(pair, group, "m-2", member_epoch=6, **owning(_0=[1]))
    describe(pair, group)


def test_one_asks_all_to_shut_down(pair: Pair, group: str, source: str) -> None:
    plain = topology(stateless(source))
    join(pair, group, "m-1", plain)
    join(pair, group, "m-2", plain)
    beat(pair, group, "m-1", member_epoch=2, shutdown_application=True)
    beat(pair, group, "m-2", member_epoch=3)
    beat(pair, group, "m-1", member_epoch=-1)
    beat(pair, group, "m-2", member_epoch=-1, shutdown_application=True)
    join(pair, group, "m-3", plain)


def test_other_protocols(pair: Pair, group: str, source: str) -> None:
    join(pair, group, "m-1", topology(stateless(source)))
    ask_in_other_protocols(pair, group, source)
    share = ShareGroupHeartbeatRequest(
        group_id=group, member_id="s", subscribed_topic_names=[source]
    )
    pair.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, share)
    pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))
    pair.ask(ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=[group]))


def test_a_group_that_is_another(pair: Pair, group: str, source: str) -> None:
    beat_as_consumer(pair, group, source)
    plain = topology(stateless(source))
    join(pair, group, "m-1", plain)
    beat(pair, group, member_epoch=2)
    beat(pair, group, member_epoch=-1)
    describe(pair, group)
    kept = f"{group}-kept"
    commit(pair, kept, source, -1, "", version=9)
    join(pair, kept, "m-1", plain)
    describe(pair, kept)
    fetch(pair, kept, source, None, -1)
    for name in (f"{group}-new", f"{group}-known"):
        if name.endswith("known"):
            commit(pair, name, source, -1, "", version=9)
        join(pair, name, "m-1", plain, user_endpoint=Endpoint(host="one", port=1))
        beat(pair, name, "m-1", member_epoch=1, endpoint_information_epoch=0)


def test_offsets(pair: Pair, group: str, source: str) -> None:
    join(pair, group, "m-1", topology(stateless(source)))
    commit(pair, group, source, 2, "m-1", version=9)
    commit(pair, group, source, 2, "m-1", version=8)
    commit(pair, group, source, 1, "m-1", version=9)
    commit(pair, group, source, 3, "m-1", version=9)
    commit(pair, group, source, 2, "nil", version=9)
    commit(pair, group, source, -1, "", version=9)
    for member_id, epoch in ((None, -1), ("m-1", 2), ("m-1", 1), ("nil", 2)):
        fetch(pair, group, source, member_id, epoch)
    join(pair, group, "m-2", topology(stateless(source)))
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1, 2, 3]))
    beat(pair, group, member_epoch=2, **owning(_0=[0, 1]))
    for partition in range(4):
        commit(pair, group, source, 2, "m-1", version=9, partition=partition)
    delete = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=source, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
        ],
    )
    pair.ask(ApiKey.OFFSET_DELETE, 0, delete)
    beat(pair, group, "m-1", member_epoch=-1)
    beat(pair, group, "m-2", member_epoch=-1)
    commit(pair, group, source, -1, "", version=9)
    pair.ask(ApiKey.OFFSET_DELETE, 0, delete)


def test_intervals_of_groups(pair: Pair, group: str, source: str) -> None:
    configure(
        pair,
        group,
        **{
            "streams.assignment.interval.ms": "5000",
            "streams.heartbeat.interval.ms": "6000",
            "streams.session.timeout.ms": "50000",
        },
    )
    plain = topology(stateless(source))
    join(pair, group, "m-1", plain)
    join(pair, group, "m-2", plain)
    describe(pair, group)
    for wrong in (
        {"streams.num.standby.replicas": "9"},
        {"streams.num.standby.replicas": "-1"},
        {"streams.assignment.interval.ms": "99999"},
        {"streams.heartbeat.interval.ms": "1"},
        {"streams.session.timeout.ms": "1"},
        {"streams.initial.rebalance.delay.ms": "-1"},
        {"streams.initial.rebalance.delay.ms": "5000"},
    ):
        configure(pair, group, **wrong)
    delayed = f"{group}-delayed"
    configure(pair, delayed, **{"streams.initial.rebalance.delay.ms": "2000"})
    join(pair, delayed, "m-1", plain)
    join(pair, delayed, "m-2", plain)
    describe(pair, delayed)
    time.sleep(3)
    describe(pair, delayed)
    beat(pair, delayed, "m-1", member_epoch=0, topology=plain, rebalance_timeout_ms=5)
