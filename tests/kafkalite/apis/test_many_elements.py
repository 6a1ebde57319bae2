"""Requests about very many things: each is answered, and nothing holds the loop meanwhile.

The watchdog of every test of the broker sees to the latter.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

COUNT = 20_000
NAMES = [f"n{number}" for number in range(COUNT)]
INDEXES = list(range(COUNT))

REQUESTS = {
    "DescribeConfigs": (
        DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=2, resource_name=name) for name in NAMES
            ]
        ),
        lambda answer: answer.results,
    ),
    "DeleteTopics": (
        DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in NAMES], timeout_ms=1),
        lambda answer: answer.responses,
    ),
    "CreateTopics": (
        CreateTopicsRequest(
            topics=[
                CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in NAMES
            ],
            timeout_ms=1,
        ),
        lambda answer: answer.topics,
    ),
    "DescribeGroups": (DescribeGroupsRequest(groups=NAMES), lambda answer: answer.groups),
    "ConsumerGroupDescribe": (
        ConsumerGroupDescribeRequest(group_ids=NAMES),
        lambda answer: answer.groups,
    ),
    "DeleteGroups": (DeleteGroupsRequest(groups_names=NAMES), lambda answer: answer.results),
    "DescribeTransactions": (
        DescribeTransactionsRequest(transactional_ids=NAMES),
        lambda answer: answer.transaction_states,
    ),
    "FindCoordinator": (
        FindCoordinatorRequest(key_type=0, coordinator_keys=NAMES),
        lambda answer: answer.coordinators,
    ),
    "DescribeProducers": (
        DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=INDEXES)]),
        lambda answer: answer.topics[0].partitions,
    ),
    "ListOffsets": (
        ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(
                    name="t",
                    partitions=[
                        ListOffsetsPartition(partition_index=index, timestamp=-1)
                        for index in INDEXES
                    ],
                )
            ]
        ),
        lambda answer: answer.topics[0].partitions,
    ),
    "OffsetForLeaderEpoch": (
        OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic="t",
                    partitions=[
                        OffsetForLeaderPartition(partition=index, leader_epoch=0)
                        for index in INDEXES
                    ],
                )
            ]
        ),
        lambda answer: answer.topics[0].partitions,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUESTS)
async def test_each_of_very_many_is_answered(client: Any, name: str) -> None:
    request, answers_of = REQUESTS[name]
    assert len(answers_of(await client.ask(request))) == COUNT


OPEN = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
# Each 32 KB: together they are a batch of 10 MB.
LONG_NAMES = [f"{number:05}".ljust(32_000, "n") for number in range(300)]
LONG: list[tuple[Any, int]] = [
    (
        AlterClientQuotasRequest(
            entries=[
                EntryDataRequest(
                    entity=[EntityData(entity_type="user", entity_name=name)],
                    ops=[OpData(key="producer_byte_rate", value=5.0)],
                )
                for name in LONG_NAMES
            ]
        ),
        1,
    ),
    (
        CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=2,
                    resource_name="t",
                    resource_pattern_type=3,
                    principal=f"User:{name}",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
                for name in LONG_NAMES
            ]
        ),
        3,
    ),
    (
        AlterUserScramCredentialsRequest(
            upsertions=[
                ScramCredentialUpsertion(
                    name=name, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
                )
                for name in LONG_NAMES
            ]
        ),
        0,
    ),
]


@pytest.mark.parametrize(("request_", "version"), LONG)
async def test_long_names_are_not_all_written_at_once(
    connect: Any, monkeypatch: pytest.MonkeyPatch, request_: Any, version: int
) -> None:
    async with test_broker(OPEN) as running:
        client = await connect(running)
        log = running._running.services.cluster._log
        append, sizes = log.append, list[int]()

        def counted(batch: bytes) -> int:
            sizes.append(len(batch))
            return append(batch)

        monkeypatch.setattr(log, "append", counted)
        await client.ask(request_, version)
        assert sum(sizes) > sum(map(len, LONG_NAMES))
        assert max(sizes) < 2 << 20
