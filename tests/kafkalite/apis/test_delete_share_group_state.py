"""DeleteShareGroupState: the state of a share partition is forgotten."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteStateData,
    PartitionData,
)
from tests.kafkalite.apis.share_state import GROUP, delete, initialize, read
from tests.kafkalite.conftest import Client


async def test_a_state_is_forgotten_and_others_stay(client: Client, stored: UUID) -> None:
    for partition in (0, 1):
        await initialize(client, stored, partition=partition, state_epoch=5)
    answer = await delete(client, stored, partition=1)
    assert (answer.partition, answer.error_code, answer.error_message) == (1, 0, None)
    gone = await read(client, stored, partition=1)
    assert gone.error_code == ErrorCode.INVALID_REQUEST
    assert (await read(client, stored)).error_code == 0
    # Nothing of it is left: an epoch that was too old before may begin.
    again = await initialize(client, stored, partition=1, state_epoch=1)
    assert again.error_code == 0


async def test_what_is_not_there_is_deleted_all_the_same(client: Client, stored: UUID) -> None:
    assert (await delete(client, stored)).error_code == 0


@pytest.mark.parametrize(
    ("partition", "code"),
    [(-1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
)
async def test_a_partition_that_is_not_there(
    client: Client, stored: UUID, partition: int, code: ErrorCode
) -> None:
    assert (await delete(client, stored, partition=partition)).error_code == code


@pytest.mark.parametrize(("group_id", "count"), [("", 1), (GROUP, 0)])
async def test_a_request_that_names_nothing_is_answered_with_nothing(
    client: Client, stored: UUID, group_id: str, count: int
) -> None:
    asked = [PartitionData(0)] * count
    request = DeleteShareGroupStateRequest(group_id, [DeleteStateData(stored, asked)])
    assert (await client.ask(request)).results == []


async def test_before_anyone_found_the_coordinator_there_is_none(broker, client: Client) -> None:
    broker.create_topic("t", 1)
    answer = await delete(client, broker.topic_id("t"))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        "Unable to delete share group state: This is not the correct coordinator.",
    )
