"""The rules that all requests for the stored state of share partitions follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from tests.kafkalite.apis import share_state
from tests.kafkalite.apis.share_state import GROUP
from tests.kafkalite.conftest import Client

Ask = Callable[..., Awaitable[Any]]
ASKING = [
    ("initialize share group state", share_state.initialize),
    ("read share group state", share_state.read),
    ("read share group state summary", share_state.summary),
    ("write share group state", share_state.write),
    ("delete share group state", share_state.delete),
]
DELETING, INITIALIZING = delete_share_group_state, initialize_share_group_state
READING, WRITING = read_share_group_state, write_share_group_state
SUMMARIZING = read_share_group_state_summary
REQUESTS = [
    (DELETING.DeleteShareGroupStateRequest, DELETING.DeleteStateData, DELETING.PartitionData(0)),
    (
        INITIALIZING.InitializeShareGroupStateRequest,
        INITIALIZING.InitializeStateData,
        INITIALIZING.PartitionData(0, 1, 0),
    ),
    (READING.ReadShareGroupStateRequest, READING.ReadStateData, READING.PartitionData(0, 0)),
    (
        SUMMARIZING.ReadShareGroupStateSummaryRequest,
        SUMMARIZING.ReadStateSummaryData,
        SUMMARIZING.PartitionData(0, -1),
    ),
    (WRITING.WriteShareGroupStateRequest, WRITING.WriteStateData, WRITING.PartitionData(0)),
]


@pytest.mark.parametrize("ask", [share_state.initialize, share_state.summary, share_state.delete])
@pytest.mark.parametrize(
    ("partition", "code"),
    [(-1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
)
async def test_a_partition_that_is_not_there(
    client: Client, stored: UUID, ask: Ask, partition: int, code: ErrorCode
) -> None:
    answer = await ask(client, stored, partition=partition)
    assert answer.error_code == code


@pytest.mark.parametrize(("group_id", "count"), [("", 1), (GROUP, 0)])
@pytest.mark.parametrize(("request_class", "data_class", "partition"), REQUESTS)
async def test_a_request_that_names_nothing_is_answered_with_nothing(
    client: Client,
    stored: UUID,
    group_id: str,
    count: int,
    request_class: Any,
    data_class: Any,
    partition: Any,
) -> None:
    request = request_class(group_id, [data_class(stored, [partition] * count)])
    assert (await client.ask(request)).results == []


@pytest.mark.parametrize(("verb", "ask"), ASKING)
async def test_before_anyone_found_the_coordinator_there_is_none(
    broker: Any, client: Client, verb: str, ask: Ask
) -> None:
    broker.create_topic("t", 1)
    answer = await ask(client, broker.topic_id("t"))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.NOT_COORDINATOR,
        f"Unable to {verb}: This is not the correct coordinator.",
    )
