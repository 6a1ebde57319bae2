"""InitializeShareGroupState: the state of a share partition begins, or begins anew."""

from __future__ import annotations

from uuid import UUID

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from tests.kafkalite.apis.share_state import initialize, read, write
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


async def test_a_topic_without_partitions_is_passed_over(client: Client, stored: UUID) -> None:
    """In the other requests about states it leaves the whole answer empty."""
    topics = [
        InitializeStateData(topic_id=UUID(int=7)),
        InitializeStateData(topic_id=stored, partitions=[PartitionData()]),
    ]
    request = InitializeShareGroupStateRequest(group_id="group", topics=topics)
    answer = await client.ask(request)
    (result,) = answer.results
    assert (result.topic_id, len(result.partitions)) == (stored, 1)
