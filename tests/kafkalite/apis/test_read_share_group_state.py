"""ReadShareGroupState: a leader reads, and is the only one to write from then on."""

from __future__ import annotations

from uuid import UUID

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.apis.share_state import initialize, read, write
from tests.kafkalite.conftest import Client


async def test_the_state_as_it_was_written(client: Client, stored: UUID) -> None:
    await initialize(client, stored, state_epoch=4, start_offset=10)
    await write(client, stored, (10, 11, 0, 2), (15, 15, 2, 1), state_epoch=4)
    state = await read(client, stored)
    assert (state.partition, state.error_code) == (0, 0)
    assert (state.state_epoch, state.start_offset) == (4, 10)
    assert [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in state.state_batches
    ] == [(10, 11, 0, 2), (15, 15, 2, 1)]


async def test_an_earlier_leader_is_fenced_off(client: Client, stored: UUID) -> None:
    await initialize(client, stored)
    assert (await read(client, stored, leader_epoch=5)).error_code == 0
    refused = await read(client, stored, leader_epoch=4)
    assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
    refused = await write(client, stored, leader_epoch=4)
    assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (await write(client, stored, leader_epoch=5)).error_code == 0


async def test_what_was_never_begun(client: Client, stored: UUID) -> None:
    answer = await read(client, stored)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Read operation on uninitialized share partition not allowed.",
    )
