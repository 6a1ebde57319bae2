"""The same seed, and the same requests in the same order: with a frozen clock, the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from kafkalite.client.async_kit import AsyncKit
from kafkalite.control.spy.decoded import error_codes
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import read_meta_properties
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.kafkalite.conftest import Client, batch

CONFIGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
}


class Run:
    """The requests of one run, and the bytes of their answers."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.answers: list[tuple[str, bytes]] = []

    async def ask(self, request: object, version: int | None = None) -> Any:
        frame = self.client.frame
        seen: list[bytes] = []

        async def noted() -> bytes:
            seen.append(await frame())
            return seen[-1]

        self.client.frame = noted  # type: ignore[method-assign]  # each frame is kept
        answer = await self.client.ask(request, version)
        self.client.frame = frame  # type: ignore[method-assign]  # as it was
        assert set(error_codes(answer)) <= {ErrorCode.MEMBER_ID_REQUIRED}, answer
        self.answers.append((type(request).__name__, seen[0]))
        return answer

    async def everything(self, timestamp: int) -> None:
        """Each kind of id is given out, and told."""
        ask = self.ask
        await ask(ApiVersionsRequest(client_software_name="test", client_software_version="1"))
        await ask(
            CreateTopicsRequest(
                topics=[CreatableTopic(name="t", num_partitions=2, replication_factor=1)],
                timeout_ms=1000,
            )
        )
        told = await ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))
        topic_id: UUID = told.topics[0].topic_id
        await ask(DescribeClusterRequest())
        await self._transaction(topic_id, timestamp)
        await self._group(topic_id)
        partitions = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
        await ask(
            ListOffsetsRequest(
                replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=partitions)]
            )
        )
        for _ in range(2):
            partition = FetchPartition(partition=0, partition_max_bytes=10_000)
            await ask(
                FetchRequest(
                    session_epoch=0,
                    max_bytes=10_000,
                    topics=[FetchTopic(topic_id=topic_id, partitions=[partition])],
                )
            )
        await ask(GetTelemetrySubscriptionsRequest(client_instance_id=UUID(int=0)))
        acl = AclCreation(
            resource_type=2,
            resource_name="t",
            resource_pattern_type=3,
            principal="User:a",
            host="*",
            operation=3,
            permission_type=3,
        )
        await ask(CreateAclsRequest(creations=[acl]))

    async def _transaction(self, topic_id: UUID, timestamp: int) -> None:
        ask = self.ask
        await ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]))
        made = await ask(InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=1000))
        who = {"producer_id": made.producer_id, "producer_epoch": made.producer_epoch}
        data = batch(b"v", timestamp=timestamp, base_sequence=0, is_transactional=True, **who)
        partition = PartitionProduceData(index=0, records=data)
        await ask(
            ProduceRequest(
                transactional_id="x",
                acks=-1,
                timeout_ms=1000,
                topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[partition])],
            )
        )
        await ask(DescribeTransactionsRequest(transactional_ids=["x"]))
        await ask(EndTxnRequest(transactional_id="x", committed=True, **who))

    async def _group(self, topic_id: UUID) -> None:
        ask = self.ask
        await ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "m"]))
        member_id = ""
        for _ in range(2):
            joined = await ask(
                JoinGroupRequest(
                    group_id="g",
                    session_timeout_ms=10_000,
                    rebalance_timeout_ms=10_000,
                    member_id=member_id,
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
                )
            )
            member_id = joined.member_id
        await ask(HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id))
        await ask(DescribeGroupsRequest(groups=["g"]))
        await ask(
            ConsumerGroupHeartbeatRequest(
                group_id="m",
                member_epoch=0,
                rebalance_timeout_ms=10_000,
                subscribed_topic_names=["t"],
                topic_partitions=[],
            ),
            0,
        )


async def answers_of(
    k: AsyncKit, bootstrap: str, connect: Any, at_ms: int
) -> list[tuple[str, bytes]]:
    await k.clock.freeze()
    await k.clock.advance(to=at_ms)
    run = Run(await connect(SimpleNamespace(bootstrap=bootstrap)))
    await run.everything(at_ms)
    return run.answers


def ids_of(k: broker, name: str) -> Mapping[str, Any]:
    """The ids that no answer tells."""
    clusters = k._clusters
    assert clusters is not None
    cluster = clusters.get(name)
    known = read_meta_properties(Path(cluster.data_dir), FILES)
    assert known is not None
    image = cluster.broker.services.cluster.image
    return {"directory": known.directory_id, "acls": sorted(image.access_control_entries)}


async def test_they_are_answered_with_the_same_bytes(broker: broker, connect: Any) -> None:
    """In two clusters at the same port, one after the other, and after a reset of each."""
    k = broker.asynchronous
    at_ms = await _later(k)
    seen: list[list[tuple[str, bytes]]] = []
    ids: list[Mapping[str, Any]] = []
    listeners: dict[str, str] = {}
    for _ in range(2):
        made = await k.ask("clusters.create", seed=7, configs={**CONFIGS, **listeners})
        listeners = {"listeners": f"PLAINTEXT://{made.bootstrap}"}
        cluster = AsyncKit(broker._async_verb, made.name)
        for _ in range(2):
            seen.append(await answers_of(cluster, made.bootstrap, connect, at_ms))
            ids.append(ids_of(broker, made.name))
            await cluster.reset()
        await cluster.ask("clusters.delete")
    assert len(seen[0]) > 15
    for again in seen[1:]:
        for (name, one), (_, other) in zip(seen[0], again, strict=True):
            assert one == other, name
    assert len(ids[0]["acls"]) == 1
    assert all(each == ids[0] for each in ids)
    other = await k.ask("clusters.create", seed=8, configs={**CONFIGS, **listeners})
    told = await answers_of(
        AsyncKit(broker._async_verb, other.name), other.bootstrap, connect, at_ms
    )
    differ = [name for (name, one), (_, other) in zip(seen[0], told, strict=True) if one != other]
    assert {"MetadataRequest", "JoinGroupRequest", "FetchRequest"} <= set(differ)
    assert ids_of(broker, other.name)["directory"] != ids[0]["directory"]


async def _later(k: AsyncKit) -> int:
    shown = await k.clock.show()
    return shown.now_ms + 86_400_000
