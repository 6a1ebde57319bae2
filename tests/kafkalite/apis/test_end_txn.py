"""EndTxn: commit and abort, and the epoch to go on with since version 5 (KIP-890)."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.transactional import NONE, Transactional, read_committed


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
async def test_a_transaction_ends_in_every_version(
    writer: Transactional, version: int, commit: bool
) -> None:
    epoch = writer.epoch
    assert await writer.add(0) is NONE
    assert await writer.produce(b"a", version=11) is NONE
    assert await writer.end(commit=commit, version=version) is NONE
    assert await writer.state() == ("CompleteCommit" if commit else "CompleteAbort")
    assert writer.epoch == (epoch + 1 if version >= 5 else epoch)
    assert await read_committed(writer.client) == [b"a"] * commit


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_a_stale_epoch_is_fenced(
    writer: Transactional, version: int, code: ErrorCode
) -> None:
    assert await writer.add(0) is NONE
    writer.epoch -= 1
    assert await writer.end(commit=True, version=version) is code
