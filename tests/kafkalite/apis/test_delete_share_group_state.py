"""DeleteShareGroupState: the state of a share partition is forgotten."""

from __future__ import annotations

from uuid import UUID

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.apis.share_state import delete, initialize, read
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
