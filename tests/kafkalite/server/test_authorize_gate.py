"""The gate asks before the handler does anything, and what it refuses reads as Kafka's answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import trio
import trio.testing

from kafkalite.apis import APIS
from kafkalite.requests.context import RequestContext
from kafkalite.requests.principal import Principal
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.server.authorize_gate import authorize_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import fetch, heartbeat, produce
from kafkalite.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkalite.wire.rows import rows_of
from tests.kafkalite.acl_filters import deletion
from tests.kafkalite.conftest import Client, batch
from tests.kafkalite.security.authorizers import acl, authorizer
from tests.kafkalite.security.secured import Users, allow, grant

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED


async def id_of_secret(root: Client) -> UUID:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="secret")])
    topic_id: UUID = (await root.ask(request)).topics[0].topic_id
    return topic_id


async def end_of_secret(root: Client) -> int:
    partitions = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    topics = [ListOffsetsTopic(name="secret", partitions=partitions)]
    answer = await root.ask(ListOffsetsRequest(replica_id=-1, topics=topics))
    return int(answer.topics[0].partitions[0].offset)


def produced(*names: str) -> produce.ProduceRequest:
    topics = [
        produce.TopicProduceData(
            name=name, partition_data=[produce.PartitionProduceData(0, batch(b"v"))]
        )
        for name in names
    ]
    return produce.ProduceRequest(None, -1, 1000, topics)


def wanted(topic_id: UUID, version: int, **settings: Any) -> fetch.FetchRequest:
    topic = fetch.FetchTopic(
        partitions=[fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)]
    )
    if version >= 13:
        topic.topic_id = topic_id
    else:
        topic.topic = "secret"
    return fetch.FetchRequest(session_epoch=0, max_bytes=1000, topics=[topic], **settings)


async def test_what_is_refused_is_not_done(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    before = await end_of_secret(root)
    (topic,) = (await alice.ask(produced("secret"), 9)).responses
    assert topic.partition_responses[0].error_code == DENIED
    assert await end_of_secret(root) == before


async def test_what_is_left_is_done_and_answered_in_the_order_of_the_request(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "secret"))
    answer = await alice.ask(produced("other", "secret", "third"), 9)
    assert [
        (topic.name, topic.partition_responses[0].error_code) for topic in answer.responses
    ] == [("other", DENIED), ("secret", 0), ("third", DENIED)]
    assert await end_of_secret(root) == 1


async def test_a_produce_that_wants_no_answer_closes_if_a_part_is_refused(users: Users) -> None:
    """The other part is written, as with any other error."""
    root, alice = await users.user("root"), await users.user("alice")
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "secret"))
    request = produced("other", "secret")
    request.acks = 0
    await alice.send(request, 9)
    assert await alice.is_closed()
    assert await end_of_secret(root) == 1


async def test_a_produce_that_wants_no_answer_closes_if_its_id_is_refused(users: Users) -> None:
    alice = await users.user("alice")
    records = batch(b"v", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    request = produced("secret")
    request.topic_data[0].partition_data[0].records = records
    request.transactional_id, request.acks = "id", 0
    await alice.send(request, 9)
    assert await alice.is_closed()


async def test_a_produce_that_wants_no_answer_gets_none(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "secret"))
    request = produced("secret")
    request.acks = 0
    await alice.send(request, 9)
    assert (await alice.ask(heartbeat.HeartbeatRequest("g", 1, "m"))).error_code == GROUP_DENIED
    assert await end_of_secret(root) == 1


@pytest.mark.parametrize("version", [12, 17])
async def test_fetch_asks_for_every_partition_of_a_session(users: Users, version: int) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    topic_id = await id_of_secret(root)
    await root.ask(produced("secret"), 9)
    response = await alice.ask(wanted(topic_id, version), version)
    assert response.responses[0].partitions[0].error_code == DENIED
    assert not response.responses[0].partitions[0].records
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "secret"))
    again = fetch.FetchRequest(session_id=response.session_id, session_epoch=1, max_bytes=1000)
    response = await alice.ask(again, version)
    assert response.responses[0].partitions[0].error_code == 0
    assert response.responses[0].partitions[0].records


@pytest.mark.parametrize("version", [12, 17])
async def test_who_waits_keeps_the_right_of_before(users: Users, version: int) -> None:
    """The next request is refused."""
    root, alice = await users.user("root"), await users.user("alice")
    request = wanted(await id_of_secret(root), version, max_wait_ms=60_000, min_bytes=1)
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "secret"))
    await alice.send(request, version)
    await trio.testing.wait_all_tasks_blocked(0.05)
    await root.ask(DeleteAclsRequest(filters=[deletion()]))
    await root.ask(produced("secret"), 9)
    answers = [await alice.answer(), await alice.ask(request, version)]
    (given,), (refused,) = [answer.responses[0].partitions for answer in answers]
    assert (given.error_code, len(given.records) > 0) == (0, True)
    assert (refused.error_code, len(refused.records)) == (DENIED, 0)


async def test_what_was_refused_stays_so_while_others_are_waited_for(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    request = wanted(await id_of_secret(root), 12, max_wait_ms=60_000, min_bytes=1)
    request.topics.append(fetch.FetchTopic(topic="other", partitions=request.topics[0].partitions))
    await root.ask(MetadataRequest(topics=[MetadataRequestTopic(name="other")]))  # creates it
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "other"))
    await alice.send(request, 12)
    await trio.testing.wait_all_tasks_blocked(0.05)
    await root.ask(produced("secret"), 9)
    await root.ask(produced("other"), 9)
    (secret,), (other,) = [topic.partitions for topic in (await alice.answer()).responses]
    assert (secret.error_code, len(secret.records)) == (DENIED, 0)
    assert (other.error_code, len(other.records) > 0) == (0, True)


@pytest.mark.parametrize("version", [12, 17])
async def test_a_client_that_says_it_is_a_replica_needs_the_cluster_s_action(
    users: Users, version: int
) -> None:
    """To read a topic is not enough: a replica reads beyond the high watermark."""
    root, alice = await users.user("root"), await users.user("alice")
    topic_id = await id_of_secret(root)
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "secret"))
    if version >= 15:
        request = wanted(topic_id, version, replica_state=fetch.ReplicaState(replica_id=2))
    else:
        request = wanted(topic_id, version, replica_id=2)
    response = await alice.ask(request, version)
    assert response.responses[0].partitions[0].error_code == DENIED


async def test_what_a_connection_may_is_taken_from_it_while_it_lasts(users: Users) -> None:
    """Its decisions are remembered, until the entries change."""
    root, alice = await users.user("root"), await users.user("alice")
    topic_id = await id_of_secret(root)
    rights = [
        allow(operation, ResourceType.TOPIC, "secret")
        for operation in (Operation.READ, Operation.WRITE)
    ]
    for code in (0, DENIED, 0):
        if code == DENIED:
            await root.ask(DeleteAclsRequest(filters=[deletion()]))
        else:
            await grant(users, *rights)
        for _ in range(2):
            (written,) = (await alice.ask(produced("secret"), 9)).responses
            assert written.partition_responses[0].error_code == code
            (read,) = (await alice.ask(wanted(topic_id, 17), 17)).responses
            assert read.partitions[0].error_code == code


@pytest.mark.parametrize("api_key", [ApiKey.PRODUCE, ApiKey.FETCH])
def test_what_one_principal_may_is_no_answer_for_another(api_key: ApiKey) -> None:
    """The same connection, whose principal is another from now on."""
    alices = acl("t", Operation.ALL)
    allowed: list[bool] = []

    def handle(services: Any, context: Any, request: Any) -> None:
        may = context.may_write if api_key is ApiKey.PRODUCE else context.may_read
        allowed.append(may("t"))

    gated = authorize_gate(authorizer(alices))(APIS[api_key], handle)
    nothing: Any = SimpleNamespace()
    context = RequestContext(1, api_key, 9, "c", "10.0.0.1", "SECURED", 0.0, nothing)
    asked = produce.ProduceRequest if api_key is ApiKey.PRODUCE else fetch.FetchRequest
    request: Any = rows_of(asked())
    for name in ("alice", "bob", "alice"):
        context.principal = Principal("User", name)
        gated(nothing, context, request)
    assert allowed == [True, False, True]


def configured(*resources: tuple[int, str]) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(resource_type=kind, resource_name=name, configs=[])
            for kind, name in resources
        ]
    )


TOPIC, BROKER, LOGGER, GROUP = (2, "t"), (4, "1"), (8, "1"), (32, "g")


@pytest.mark.parametrize(
    ("api_key", "request_", "goes_on"),
    [
        (ApiKey.DELETE_ACLS, DeleteAclsRequest(filters=[]), DeleteAclsRequest(filters=[])),
        (
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            configured(TOPIC, BROKER, LOGGER, GROUP),
            configured(TOPIC, GROUP),
        ),
        (ApiKey.CREATE_DELEGATION_TOKEN, CreateDelegationTokenRequest("User", "bob"), None),
    ],
    ids=["all", "some", "none"],
)
def test_what_controllers_decide_they_authorize(
    api_key: ApiKey, request_: Any, goes_on: Any
) -> None:
    """Their ACLs are newer. What a broker decides of such a request, it authorizes."""
    asked: list[Any] = []

    def handle(services: Any, context: Any, request: Any) -> Any:
        asked.append(request)
        return IncrementalAlterConfigsResponse(responses=[])

    gated = authorize_gate(authorizer(), forwards=True)(APIS[api_key], handle)
    nothing: Any = SimpleNamespace()
    version = APIS[api_key].max_version
    context = RequestContext(1, api_key, version, "c", "10.0.0.1", "SECURED", 0.0, nothing)
    context.principal = Principal("User", "alice")
    context.security_protocol = "SASL_PLAINTEXT"
    gated(nothing, context, request_)
    assert asked == ([] if goes_on is None else [goes_on])


async def test_an_expression_matches_what_the_member_may_describe(users: Users) -> None:
    """A group that begins to look at its expression: later rights do not change what it found."""
    root, alice = await users.user("root"), await users.user("alice")
    topic_id = await id_of_secret(root)
    await grant(users, allow(Operation.READ, ResourceType.GROUP, "g", resource_pattern_type=4))
    await root.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g1", "g2"]))
    found = []
    for name in ("g1", "g2"):
        request = ConsumerGroupHeartbeatRequest(
            group_id=name,
            member_id="m",
            rebalance_timeout_ms=1000,
            subscribed_topic_regex="se.*",
            topic_partitions=[],
        )
        joined = await alice.ask(request, 1)
        found.append([each.topic_id for each in joined.assignment.topic_partitions])
        await grant(users, allow(Operation.DESCRIBE, ResourceType.TOPIC, "secret"))
    assert found == [[], [topic_id]]


async def test_rights_count_from_the_next_request_on(users: Users) -> None:
    alice = await users.user("alice")
    request = heartbeat.HeartbeatRequest("g", 1, "m")
    assert (await alice.ask(request)).error_code == GROUP_DENIED
    await grant(users, allow(Operation.READ, ResourceType.GROUP, "g"))
    assert (await alice.ask(request)).error_code not in (0, GROUP_DENIED)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (heartbeat.HeartbeatRequest("g", 1, "m"), lambda answer: answer.error_code),
        (ConsumerGroupHeartbeatRequest(group_id="g"), lambda answer: answer.error_code),
        (
            FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]),
            lambda answer: answer.coordinators[0].error_code,
        ),
        (DeleteGroupsRequest(groups_names=["g"]), lambda answer: answer.results[0].error_code),
    ],
    ids=["heartbeat", "consumer heartbeat", "coordinator", "deletion"],
)
async def test_handlers_that_wait_are_refused_as_well(
    users: Users, request_: Any, code: Any
) -> None:
    alice = await users.user("alice")
    assert code(await alice.ask(request_)) == GROUP_DENIED


@pytest.mark.parametrize(
    ("feature", "requests"),
    [
        (
            "share.version",
            [
                ShareGroupHeartbeatRequest("g", "m", subscribed_topic_names=["secret"]),
                ShareGroupDescribeRequest(["g"]),
                AlterShareGroupOffsetsRequest("g"),
                DeleteShareGroupOffsetsRequest("g"),
            ],
        ),
        (
            "group.version",
            [ConsumerGroupHeartbeatRequest("g", "m"), ConsumerGroupDescribeRequest(["g"])],
        ),
        (
            "streams.version",
            [StreamsGroupHeartbeatRequest("g", "m"), StreamsGroupDescribeRequest(["g"])],
        ),
    ],
)
async def test_all_hear_that_a_type_of_groups_is_switched_off(
    users: Users, feature: str, requests: list[object]
) -> None:
    """Also those who may nothing: Apache Kafka does not ask for their rights then."""
    root, alice = await users.user("root"), await users.user("alice")
    for is_off in (False, True):
        if is_off:
            lowered = FeatureUpdateKey(feature=feature, max_version_level=0, upgrade_type=2)
            answer = await root.ask(UpdateFeaturesRequest(feature_updates=[lowered]))
            assert answer.error_code == ErrorCode.NONE
        for request in requests:
            answer = await alice.ask(request)
            (told,) = getattr(answer, "groups", [answer])
            assert told.error_code == (ErrorCode.UNSUPPORTED_VERSION if is_off else GROUP_DENIED)
