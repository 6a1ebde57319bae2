"""FindCoordinator: every version, every kind of key, several nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.topic_names import OFFSETS_TOPIC
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.kafkalite.group_requests import find


async def test_a_stopped_coordinator_is_replaced(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        client = await connect(b, 1)
        b._running.services.topics.create_internal("__consumer_offsets")
        names = [f"group-{index}" for index in range(20)]
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=names)
        b.stop_node(3)
        answer = await client.ask(request, 4)
        assert {found.error_code for found in answer.coordinators} == {0}
        assert {found.node_id for found in answer.coordinators} == {1, 2}


async def test_a_coordinator_without_other_replicas_is_waited_for(connect: Any) -> None:
    async with test_broker({"offsets.topic.replication.factor": 1}, nodes=3) as b:
        client = await connect(b, 1)
        b._running.services.topics.create_internal("__consumer_offsets")
        for state in b._running.services.cluster.image.topics["__consumer_offsets"].partitions:
            assert len(state.replicas) == 1
        names = [f"group-{index}" for index in range(20)]
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=names)
        answer = await client.ask(request, 4)
        before = {found.key: found.node_id for found in answer.coordinators}
        assert set(before.values()) == {1, 2, 3}
        b.stop_node(3)
        answer = await client.ask(request, 4)
        told = {found.key: (found.error_code, found.node_id) for found in answer.coordinators}
        for name, node_id in before.items():
            assert told[name] == ((15, -1) if node_id == 3 else (0, node_id))
        b.start_node(3)
        answer = await client.ask(request, 4)
        assert {found.key: found.node_id for found in answer.coordinators} == before


@pytest.mark.parametrize("version", range(1, 7))
async def test_a_topic_that_cannot_be_created_is_logged_and_not_told(
    connect: Any, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    async with test_broker({"offsets.topic.replication.factor": 3}) as b:
        client = await connect(b)
        for _ in range(2):
            found = await find(client, version=version)
            assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            words = "" if version >= 4 else "The coordinator is not available."
            assert found.error_message == words
    assert caplog.text.count("The target replication factor of 3 cannot be reached") == 1


async def test_the_first_question_creates_the_offsets_topic(clients: Any) -> None:
    client = await clients.connect()
    found = await find(client)
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)
    assert f"{found.host}:{found.port}" == clients.broker.bootstrap
    assert clients.broker.topic_id(OFFSETS_TOPIC)


@pytest.mark.parametrize("version", range(7))
async def test_find_coordinator_in_every_version(clients: Any, version: int) -> None:
    client = await clients.connect()
    found = await find(client, version=version)
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)


@pytest.mark.parametrize("key_type", [2, 7])
async def test_coordinators_of_unknown_kinds(clients: Any, key_type: int) -> None:
    found = await find(await clients.connect(), key_type=key_type)
    assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)
