"""ReadShareGroupStateSummary: where a share group is, without what is in flight."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.kafkalite.apis.share_state import initialize, read, summary, write
from tests.kafkalite.conftest import Client


@pytest.mark.parametrize(("version", "done"), [(0, -1), (1, 2)])
async def test_offsets_and_epochs(client: Client, stored: UUID, version: int, done: int) -> None:
    """From version 1 on with the count of records that are done behind the start."""
    await initialize(client, stored, state_epoch=4)
    await read(client, stored, leader_epoch=6)
    await write(
        client, stored, (13, 14, 2, 1), state_epoch=4, leader_epoch=6, start_offset=12, done=2
    )
    answer = await summary(client, stored, version=version)
    assert (answer.partition, answer.error_code) == (0, 0)
    assert (answer.state_epoch, answer.leader_epoch, answer.start_offset) == (4, 6, 12)
    assert answer.delivery_complete_count == done


async def test_what_was_never_begun_has_no_offset(client: Client, stored: UUID) -> None:
    answer = await summary(client, stored)
    assert (answer.error_code, answer.state_epoch, answer.start_offset) == (0, 0, -1)
    assert answer.delivery_complete_count == -1


async def test_it_fences_no_leader(client: Client, stored: UUID) -> None:
    await initialize(client, stored)
    await summary(client, stored)
    assert (await write(client, stored, leader_epoch=0)).error_code == 0
