"""Small requests about very much, and filters of very many words: nothing holds the loop meanwhile.

The watchdog of every test of the broker sees to that.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from kafkalite.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.list_transactions import ListTransactionsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.kafkalite.group_requests import find, join

BROKER_CONFIGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
COUNT = 10_000
WORDS = 200_000
NAMES = 100_000
QUOTAS = 40_000

pytestmark = pytest.mark.slow


async def test_acls(client: Any) -> None:
    creations = [
        AclCreation(
            resource_type=2,
            resource_name=f"t{number}",
            resource_pattern_type=3,
            principal="User:x",
            host="*",
            operation=3,
            permission_type=3,
        )
        for number in range(COUNT)
    ]
    answer = await client.ask(CreateAclsRequest(creations=creations))
    assert {result.error_code for result in answer.results} == {0}
    everything = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    found = (await client.ask(everything)).resources
    assert [each.resource_name for each in found] == [each.resource_name for each in creations]
    assert {len(each.acls) for each in found} == {1}


async def test_quotas(client: Any) -> None:
    entries = [
        EntryDataRequest(
            entity=[EntityData(entity_type="user", entity_name=f"u{number}")],
            ops=[OpData(key="producer_byte_rate", value=1e9)],
        )
        for number in range(QUOTAS)
    ]
    await client.ask(AlterClientQuotasRequest(entries=entries))
    answer = await client.ask(DescribeClientQuotasRequest(components=[], strict=False))
    assert len(answer.entries) == QUOTAS


async def test_an_entity_of_very_many_parts_that_is_named_twice(client: Any) -> None:
    """The message is too long to be sent."""
    parts = [EntityData(entity_type=f"type {n}", entity_name=f"name {n}") for n in range(NAMES)]
    entry = EntryDataRequest(entity=parts, ops=[OpData(key="producer_byte_rate", value=1e9)])
    answer = await client.ask(AlterClientQuotasRequest(entries=[entry, entry]))
    refused = ErrorCode.UNKNOWN_SERVER_ERROR
    assert [(len(each.entity), each.error_code) for each in answer.entries] == [
        (NAMES, refused),
        (NAMES, refused),
    ]
    answer = await client.ask(AlterClientQuotasRequest(entries=[entry]))
    assert len(answer.entries[0].entity) == NAMES
    assert answer.entries[0].error_code != refused


async def test_keys_of_share_partitions_that_are_none(client: Any) -> None:
    """There is no topic of share states yet, and for these it is not made."""
    keys = [f"group {number}" for number in range(NAMES)]
    answer = await client.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=keys))
    assert {each.error_code for each in answer.coordinators} == {ErrorCode.INVALID_REQUEST}


async def test_scram_credentials(client: Any) -> None:
    upsertions = [
        ScramCredentialUpsertion(
            name=f"u{number}", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
        )
        for number in range(COUNT)
    ]
    await client.ask(AlterUserScramCredentialsRequest(upsertions=upsertions))
    answer = await client.ask(DescribeUserScramCredentialsRequest(users=None))
    assert len(answer.results) == COUNT
    assert {len(each.credential_infos) for each in answer.results} == {1}


async def test_filters_of_very_many_words(client: Any) -> None:
    words = [f"word {number}" for number in range(WORDS)]
    assert (await client.ask(ListGroupsRequest(states_filter=words))).groups == []
    assert (await client.ask(ListGroupsRequest(types_filter=words))).groups == []
    answer = await client.ask(ListTransactionsRequest(state_filters=words + words[:2]))
    assert answer.unknown_state_filters == words
    numbers = ListTransactionsRequest(producer_id_filters=[*range(5 * WORDS)])
    assert (await client.ask(numbers)).transaction_states == []


async def test_members_that_leave(client: Any) -> None:
    await find(client)
    joined = await join(client)
    names = [f"m{number}" for number in range(COUNT)] + [joined.member_id]
    wanted = [MemberIdentity(member_id=name) for name in names]
    for group in ("group", "none"):
        answer = await client.ask(LeaveGroupRequest(group_id=group, members=wanted * 5))
        assert [each.member_id for each in answer.members] == names * 5
        left = [each.member_id for each in answer.members if not each.error_code]
        assert left == ([joined.member_id] if group == "group" else [])


async def test_names_that_are_authorized(client: Any) -> None:
    names = [f"a-topic-that-is-not-there-{number}" for number in range(NAMES)]
    wanted = [MetadataRequestTopic(name=name) for name in names]
    described = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    answer = await client.ask(described, version=9)
    assert len(answer.topics) == NAMES
    topics = [OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in names]
    answer = await client.ask(OffsetFetchRequest(group_id="group", topics=topics), version=7)
    assert len(answer.topics) == 0 or len(answer.topics) == WORDS
    of_topic = AlterConfigsResource(
        resource_type=2,
        resource_name="none",
        configs=[AlterableConfig(name=name, value="1") for name in names],
    )
    answer = await client.ask(AlterConfigsRequest(resources=[of_topic]))
    assert answer.responses[0].error_code
