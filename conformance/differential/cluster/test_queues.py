"""Share groups and streams groups: at coordinators, at leaders, and on all other nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.differential.broker_side import Body, Side, at
from conformance.differential.cluster.test_coordinators import GROUP, coordinator, elsewhere, seen
from conformance.differential.cluster.test_leaders import moved
from conformance.differential.cluster.topics import NODES, SPREAD, create, producing
from conformance.differential.comparison import Pair
from conformance.differential.share_requests import ACCEPT, Member, configure
from conformance.differential.streams_requests import joining, owning, stateless, topology
from conformance.differential.test_share_states import SHARE, make_share_states
from conformance.differential.test_share_states import about as about_states
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.kafka_uuid import kafka_uuid
from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

ALL = range(len(SPREAD))


def of_queues(group: str, topic: str, version: int) -> dict[ApiKey, Body]:
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    altered = AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[partition])
    return {
        ApiKey.SHARE_GROUP_HEARTBEAT: ShareGroupHeartbeatRequest(
            group_id=group, member_id="m-1", member_epoch=0, subscribed_topic_names=[topic]
        ),
        ApiKey.SHARE_GROUP_DESCRIBE: ShareGroupDescribeRequest(group_ids=[group]),
        ApiKey.STREAMS_GROUP_HEARTBEAT: joining(group, "m-1", topology(stateless(topic))),
        ApiKey.STREAMS_GROUP_DESCRIBE: StreamsGroupDescribeRequest(group_ids=[group]),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: offsets_of(group, topic),
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: AlterShareGroupOffsetsRequest(
            group_id=group, topics=[altered]
        ),
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: DeleteShareGroupOffsetsRequest(
            group_id=group, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=topic)]
        ),
    }


def offsets_of(group: str, topic: str) -> DescribeShareGroupOffsetsRequest:
    topics = [DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[*ALL])]
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics)
    return DescribeShareGroupOffsetsRequest(groups=[asked])


def of_states(group: str, topic: str) -> dict[ApiKey, Body]:
    """The requests about the state of the first partition."""
    messages = {
        ApiKey.INITIALIZE_SHARE_GROUP_STATE: (initialize_share_group_state, "InitializeState"),
        ApiKey.READ_SHARE_GROUP_STATE: (read_share_group_state, "ReadState"),
        ApiKey.WRITE_SHARE_GROUP_STATE: (write_share_group_state, "WriteState"),
        ApiKey.DELETE_SHARE_GROUP_STATE: (delete_share_group_state, "DeleteState"),
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (read_share_group_state_summary, "ReadStateSummary"),
    }
    return {
        api: about_states(module, name, group, topic, [module.PartitionData(partition=0)])
        for api, (module, name) in messages.items()
    }


@pytest.mark.parametrize("api", of_queues("", "", 0), ids=lambda api: api.name)
def test_groups_elsewhere(cluster: Pair, spread: str, api: ApiKey) -> None:
    elsewhere(cluster, spread, api, GROUP, of_queues)


@pytest.mark.parametrize("api", of_states("", ""), ids=lambda api: api.name)
def test_states_elsewhere(cluster: Pair, spread: str, api: ApiKey) -> None:
    """Each side's own topic id decides who coordinates the state of a partition."""
    make_share_states(cluster)
    body = of_states("a-group", spread)[api]
    for version in range(APIS[api].min_version, APIS[api].max_version + 1):
        answers = [
            [side.ask(api, version, body, at(node)) for node in NODES if node != keeper]
            for side in cluster.sides
            for keeper in [keeper_of(side, "a-group", spread)]
        ]
        for reference, tested in zip(*answers, strict=True):
            name = f"{api.name} v{version}"
            cluster.compare(name, reference, tested, api=api, version=version)


def keeper_of(side: Side, group: str, topic: str) -> int:
    """The node that keeps the state of the first partition."""
    key = f"{group}:{kafka_uuid(side.topic_id(topic))}:0"
    find = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[key])
    return int(side.until_no_error(ApiKey.FIND_COORDINATOR, 6, find).coordinators[0].node_id)


@pytest.mark.parametrize("version", [1, 2])
def test_records_elsewhere(cluster: Pair, spread: str, version: int) -> None:
    """A node that does not lead a partition names the one that does."""
    for node in NODES:
        for partition in (index for index in ALL if SPREAD[index][0] != node):
            member = Member(cluster, "a-group", spread, f"m-{partition}@{node}")
            fields = {"version": version, "partition": partition}
            answer = member.fetch(**fields)
            found = answer.responses[0].partitions[0]
            assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            member.say((0, 0, ACCEPT), **fields)
            member.fetch((0, 0, ACCEPT), **fields)


def test_a_share_group(cluster: Pair, topic: str, unique: Callable[[str], str]) -> None:
    """Heartbeats go to the coordinator, fetches to each leader, also when it is another."""
    create(cluster, topic)
    make_share_states(cluster)
    group = unique("group")
    configure(cluster, group, **{"share.auto.offset.reset": "earliest"})
    node = coordinator(cluster, group, GROUP)
    main, offsets = at(node), offsets_of(group, topic)
    beat = ShareGroupHeartbeatRequest(
        group_id=group, member_id="m-1", member_epoch=0, subscribed_topic_names=[topic]
    )
    cluster.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, beat, connection=main)
    everything = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    asked = DescribeShareGroupOffsetsRequest(groups=[everything])
    for side in cluster.sides:
        side.until(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, asked, has_all_states, node)
    again = replace(beat, member_epoch=2, subscribed_topic_names=None)
    cluster.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, again, connection=main)
    for partition, (leader, _) in enumerate(SPREAD):
        for _ in range(3):
            body = producing(topic, 12, [partition])
            cluster.ask(ApiKey.PRODUCE, 12, body, connection=at(leader))
        member = Member(cluster, group, topic, f"m-{partition}@{leader}")
        member.fetch(partition=partition)
        member.say((0, 1, ACCEPT), partition=partition)
    cluster.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, offsets, connection=main)
    moved(cluster, topic)
    for node_id in (1, 2):
        Member(cluster, group, topic, f"another@{node_id}").fetch()
    for each in NODES:
        describe = ShareGroupDescribeRequest(group_ids=[group])
        cluster.ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, describe, connection=at(each))
    seen(cluster, group)
    leave = replace(again, member_epoch=-1)
    cluster.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, leave, connection=main)
    for api in (ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS):
        cluster.ask(api, 0, of_queues(group, topic, 0)[api], connection=main)
        cluster.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, offsets, connection=main)
    seen(cluster, group)


def has_all_states(answer: Any) -> bool:
    return sum(len(topic.partitions) for topic in answer.groups[0].topics) == len(SPREAD)


@pytest.mark.parametrize("number", range(2))
def test_a_streams_group(
    cluster: Pair, spread: str, unique: Callable[[str], str], number: int
) -> None:
    group = unique(f"group-{number}")
    main = at(coordinator(cluster, group, GROUP))
    first = joining(group, "m-1", topology(stateless(spread)))

    def beat(request: StreamsGroupHeartbeatRequest) -> None:
        cluster.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, request, connection=main)

    beat(first)
    again = StreamsGroupHeartbeatRequest(group_id=group, member_id="m-1", member_epoch=2)
    beat(replace(again, **owning(_0=[*ALL])))
    beat(again)
    for node in NODES:
        asked = StreamsGroupDescribeRequest(group_ids=[group])
        cluster.ask(ApiKey.STREAMS_GROUP_DESCRIBE, 0, asked, connection=at(node))
    seen(cluster, group)
    beat(replace(again, member_epoch=-1))
    seen(cluster, group)
