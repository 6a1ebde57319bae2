"""InitializeShareGroupState: the state of a share partition begins, or begins anew."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from tests.kafkalite.apis.share_state import GROUP, initialize, read, write
from tests.kafkalite.conftest import Client


async def test_a_state_begins(client: Client, stored: UUID) -> None:
    answer = await initialize(client, stored, partition=1, state_epoch=3, start_offset=7)
    assert (answer.partition, answer.error_code, answer.error_message) == (1, 0, None)
    state = await read(client, stored, partition=1)
    assert (state.state_epoch, state.start_offset, state.state_batches) == (3, 7, [])


async def test_it_begins_anew_with_a_later_epoch(client: Client, stored: UUID) -> None:
    await initialize(client, stored, state_epoch=2)
    await write(client, stored, (0, 5, 2, 1), state_epoch=2)
    refused = await initialize(client, stored, state_epoch=1)
    assert refused.error_code == ErrorCode.FENCED_STATE_EPOCH
    assert len((await read(client, stored)).state_batches) == 1
    assert (await initialize(client, stored, state_epoch=3, start_offset=9)).error_code == 0
    state = await read(client, stored)
    assert (state.start_offset, state.state_batches) == (9, [])


@pytest.mark.parametrize(
    ("partition", "code"),
    [(-1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
)
async def test_a_partition_that_is_not_there(
    client: Client, stored: UUID, partition: int, code: ErrorCode
) -> None:
    assert (await initialize(client, stored, partition=partition)).error_code == code


@pytest.mark.parametrize(("group_id", "count"), [("", 1), (GROUP, 0)])
async def test_a_request_that_names_nothing_is_answered_with_nothing(
    client: Client, stored: UUID, group_id: str, count: int
) -> None:
    asked = [PartitionData(0, 1, 0)] * count
    request = InitializeShareGroupStateRequest(group_id, [InitializeStateData(stored, asked)])
    assert (await client.ask(request)).results == []


async def test_before_anyone_found_the_coordinator_there_is_none(broker, client: Client) -> None:
    broker.create_topic("t", 1)
    answer = await initialize(client, broker.topic_id("t"))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        "Unable to initialize share group state: This is not the correct coordinator.",
    )
