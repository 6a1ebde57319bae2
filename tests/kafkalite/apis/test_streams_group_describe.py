"""StreamsGroupDescribe over the wire."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafkalite.apis.streams_member import going_on, joining
from tests.kafkalite.authorized_operations import GROUP_OPERATIONS, NO_OPERATIONS
from tests.kafkalite.group_requests import find


async def described(client: Any, **options: bool) -> Any:
    (group,) = (await client.ask(StreamsGroupDescribeRequest(group_ids=["app"], **options))).groups
    return group


async def test_members_tasks_and_topology(clients: Any) -> None:
    clients.broker.create_topic("words", partitions=2)
    client = await clients.connect(client_id="counter")
    await find(client)
    epoch = (await client.ask(joining())).member_epoch
    assert (await described(client)).group_state == "NotReady"
    await client.ask(going_on(epoch))
    group = await described(client)
    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Stable")
    assert group.group_epoch == group.assignment_epoch
    first, second = group.topology.subtopologies
    assert (first.source_topics, first.repartition_sink_topics) == (["words"], ["by-word"])
    (store,) = second.state_changelog_topics
    assert (store.name, store.partitions) == ("store", 2)
    assert [(each.key, each.value) for each in store.topic_configs] == [
        ("cleanup.policy", "compact")
    ]
    (member,) = group.members
    assert (member.member_id, member.client_id, member.process_id) == ("m", "counter", "p")
    assert member.assignment == member.target_assignment
    tasks = [(each.subtopology_id, each.partitions) for each in member.assignment.active_tasks]
    assert tasks == [("0", [0, 1]), ("1", [0, 1])]


async def test_operations_are_told_on_request(clients: Any) -> None:
    clients.broker.create_topic("words")
    client = await clients.connect()
    await find(client)
    await client.ask(joining())
    assert (await described(client)).authorized_operations == NO_OPERATIONS
    asked = await described(client, include_authorized_operations=True)
    assert asked.authorized_operations == GROUP_OPERATIONS


async def test_a_group_that_is_not_there(clients: Any) -> None:
    client = await clients.connect()
    await find(client)
    group = await described(client)
    assert (group.error_code, group.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group app not found.",
    )


async def test_not_without_the_feature(clients: Any) -> None:
    client = await clients.connect()
    off = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature="streams.version", max_version_level=0, upgrade_type=2)
        ]
    )
    await client.ask(off)
    assert (await described(client)).error_code == ErrorCode.UNSUPPORTED_VERSION
