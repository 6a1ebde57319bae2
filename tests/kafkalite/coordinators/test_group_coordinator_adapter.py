"""The group coordinators of a broker: one per group among several nodes, kept over a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.coordinators.group_coordinator_adapter import group_config
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.kafkalite.apis.streams_member import joining
from tests.kafkalite.group_requests import commit_request, fetch, find, join


async def test_a_restart_keeps_offsets_members_and_generations(
    tmp_path: Path, connect: Any
) -> None:
    async with a_broker(data_dir=tmp_path) as running:
        running.create_topic("words", partitions=1)
        topic_id = running.topic_id("words")
        client = await connect(running)
        await find(client)
        first = await join(client, instance_id="one")
        ids = {"group_id": "group", "member_id": first.member_id, "generation_id": 1}
        assignment = SyncGroupRequestAssignment(member_id=first.member_id, assignment=b"mine")
        request = SyncGroupRequest(**ids, group_instance_id="one", assignments=[assignment])
        refused = await client.ask(request)
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # none is named
        request.protocol_type, request.protocol_name = first.protocol_type, first.protocol_name
        await client.ask(request)
        committed = commit_request(
            "words",
            topic_id,
            7,
            member_id=first.member_id,
            group_instance_id="one",
            generation_id_or_member_epoch=1,
        )
        await client.ask(committed)
    async with a_broker(data_dir=tmp_path) as running:
        client = await connect(running)
        await find(client)
        assert (await fetch(client, topic_id)).committed_offset == 7
        beat = await client.ask(HeartbeatRequest(**ids, group_instance_id="one"))
        assert beat.error_code == ErrorCode.NONE
        again = await join(client, instance_id="one")
        assert (again.generation_id, again.skip_assignment) == (1, True)


async def test_each_group_has_one_coordinator(connect: Any) -> None:
    async with a_broker(nodes=3) as running:
        client = await connect(running)
        found = await find(client)
        for node_id, address in enumerate(running.bootstrap.split(","), 1):
            joined = await join(await connect(running, node_id), version=3)
            if node_id == found.node_id:
                assert address == f"{found.host}:{found.port}"
                assert joined.error_code == ErrorCode.NONE
            else:
                assert joined.error_code == ErrorCode.NOT_COORDINATOR


async def test_the_assignment_interval_counts_as_soon_as_it_is_altered(connect: Any) -> None:
    interval, largest = "group.consumer.assignment.interval.ms", "group.consumer.max.size"

    async def alter(name: str, value: str) -> int:
        config = AlterableConfig(name=name, config_operation=0, value=value)
        node = AlterConfigsResource(resource_type=4, resource_name="", configs=[config])
        answer = await client.ask(IncrementalAlterConfigsRequest(resources=[node]))
        return answer.responses[0].error_code

    async def beat(member_id: str, epoch: int) -> tuple[int, int]:
        """The member's epoch, and how many partitions it is told to have."""
        joining = {"rebalance_timeout_ms": 9_000, "topic_partitions": []} if epoch == 0 else {}
        request = ConsumerGroupHeartbeatRequest(
            group_id="group",
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=["words"],
            **joining,
        )
        response = await client.ask(request)
        assert response.error_code == ErrorCode.NONE, response
        topics = response.assignment.topic_partitions if response.assignment else []
        return response.member_epoch, sum(len(topic.partitions) for topic in topics)

    async with a_broker({interval: "15000"}) as running:
        running.create_topic("words", partitions=2)
        client = await connect(running)
        await find(client)
        _, count = await beat("first", 0)
        assert count == 2
        await beat("first", -1)
        epoch, count = await beat("second", 0)
        assert count == 0  # those of the last assignment wait for the next one
        assert await alter(largest, "1") == ErrorCode.INVALID_REQUEST  # not dynamic in Kafka either
        assert await alter(interval, "0") == ErrorCode.NONE
        _, count = await beat("second", epoch)
        assert count == 2


@pytest.mark.parametrize("family", ["share", "streams"])
def test_the_broker_s_configs_are_the_groups(family: str) -> None:
    """Each number about groups of that kind, which others check and use under its name."""
    names = {
        name.replace("_", "."): name
        for name in GroupConfig.__slots__
        if name.startswith(f"group_{family}_")
    }
    assert len(names) > 10
    default = BrokerConfig({})
    least = {name: "1" for name in names if ".min." in name and name.endswith("interval.ms")}
    least[f"group.{family}.min.session.timeout.ms"] = "1"
    for name, field in names.items():
        value = default.integer(name) - 1 or 2
        config = group_config(BrokerConfig({**least, name: f"{max(value, 3)}"}))
        assert getattr(config, field) == max(value, 3), name


@pytest.mark.parametrize("protocols", ["classic,consumer", "classic,streams"])
async def test_streams_groups_are_refused_where_they_are_not_offered(
    connect: Any, protocols: str
) -> None:
    async with a_broker({"group.coordinator.rebalance.protocols": protocols}) as running:
        client = await connect(running)
        await find(client)
        code = (await client.ask(joining())).error_code
        assert (code == ErrorCode.UNSUPPORTED_VERSION) == ("streams" not in protocols)
