"""A text in an answer is too long to be sent: the client hears that something went wrong."""

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
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.conftest import Client

# A text has 32,767 bytes at most, and this one comes back among others.
LONG = "x" * 32_760
UNEXPECTED = ErrorCode.UNKNOWN_SERVER_ERROR


def topic(name: str, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


async def test_all_that_was_asked_is_refused_and_what_was_done_stays(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = topic("wrong", **{"retention.ms": LONG})
    answer = await client.ask(CreateTopicsRequest(topics=[topic("t"), wrong], timeout_ms=10_000))
    assert [(each.name, each.error_code) for each in answer.topics] == [
        ("t", UNEXPECTED),
        ("wrong", UNEXPECTED),
    ]
    assert "the response to CREATE_TOPICS cannot be sent" in caplog.text
    named = [MetadataRequestTopic(name=name) for name in ("t", "wrong")]
    found = await client.ask(MetadataRequest(topics=named, allow_auto_topic_creation=False))
    assert [each.error_code for each in found.topics] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


async def test_the_loop_goes_on_while_it_is_found_out_what_cannot_be_sent(client: Client) -> None:
    """The watch of all tests sees it, as to look at so many takes 100 ms and more."""
    named = [topic(f"t-{number}", **{"retention.ms": "x"}) for number in range(3000)]
    wrong = topic("wrong", **{"retention.ms": LONG})
    answer = await client.ask(CreateTopicsRequest(topics=[*named, wrong], timeout_ms=10_000))
    assert {each.error_code for each in answer.topics} == {UNEXPECTED}


async def test_very_many_are_refused(client: Client) -> None:
    await client.ask(FindCoordinatorRequest(coordinator_keys=["any"]))
    request = DescribeGroupsRequest(groups=[LONG, *(f"group-{index}" for index in range(20_000))])
    answer = await client.ask(request)
    assert {each.error_code for each in answer.groups} == {UNEXPECTED}
    assert len(answer.groups) == 20_001


async def test_the_request_is_a_row(client: Client) -> None:
    await client.ask(FindCoordinatorRequest(coordinator_keys=["any"]))
    request = ConsumerGroupHeartbeatRequest(
        group_id=LONG,
        member_id="m",
        member_epoch=5,
        instance_id=None,
        rack_id=None,
        subscribed_topic_names=None,
        server_assignor=None,
        topic_partitions=None,
    )
    answer = await client.ask(request)
    assert (answer.error_code, answer.error_message) == (UNEXPECTED, None)


async def test_the_client_goes_on(client: Client) -> None:
    def quota(key: str) -> Any:
        entity = [EntityData(entity_type="user", entity_name="u")]
        return AlterClientQuotasRequest(
            entries=[EntryDataRequest(entity=entity, ops=[OpData(key=key, value=1.0)])]
        )

    for key, code in ((LONG, UNEXPECTED), ("producer_byte_rate", ErrorCode.NONE)):
        answer = await client.ask(quota(key))
        assert [each.error_code for each in answer.entries] == [code]
