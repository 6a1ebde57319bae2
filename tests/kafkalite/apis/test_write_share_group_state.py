"""WriteShareGroupState: what a leader says of records is laid over what was said before."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.apis.share_state import (
    find_coordinator,
    initialize,
    read,
    summary,
    write,
)
from tests.kafkalite.conftest import Client


@pytest.mark.parametrize("version", [0, 1])
async def test_later_words_count(client: Client, stored: UUID, version: int) -> None:
    await initialize(client, stored)
    answer = await write(client, stored, (0, 9, 0, 1), version=version)
    assert (answer.partition, answer.error_code, answer.error_message) == (0, 0, None)
    await write(client, stored, (0, 4, 2, 2), start_offset=3, done=2, version=version)
    state = await read(client, stored)
    assert state.start_offset == 3
    assert [
        (each.first_offset, each.last_offset, each.delivery_state) for each in state.state_batches
    ] == [(3, 4, 2), (5, 9, 0)]
    done = (await summary(client, stored)).delivery_complete_count
    assert done == (2 if version else -1)


async def test_epochs_that_are_over(client: Client, stored: UUID) -> None:
    await initialize(client, stored, state_epoch=5)
    refused = await write(client, stored, (0, 9, 2, 1), state_epoch=4)
    assert refused.error_code == ErrorCode.FENCED_STATE_EPOCH
    assert (await read(client, stored)).state_batches == []


async def test_what_was_never_begun(client: Client, stored: UUID) -> None:
    answer = await write(client, stored)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Write operation on uninitialized share partition not allowed.",
    )


async def test_what_is_written_outlives_the_broker(tmp_path, connect) -> None:
    configs = {"log.dirs": str(tmp_path)}
    async with a_broker(configs) as running:
        client = await connect(running)
        running.create_topic("t", 1)
        topic_id = running.topic_id("t")
        await find_coordinator(client, topic_id)
        await initialize(client, topic_id)
        await write(client, topic_id, (0, 9, 2, 1), start_offset=10, done=0)
    async with a_broker(configs) as running:
        state = await read(await connect(running), topic_id)
        assert (state.error_code, state.start_offset) == (0, 10)
