"""TxnOffsetCommit: offsets count once their transaction is committed."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.transactional import (
    NONE,
    Transactional,
    committed_offset,
)


@pytest.mark.parametrize("version", range(6))
async def test_an_offset_counts_when_its_transaction_commits(
    writer: Transactional, version: int
) -> None:
    if version < 5:
        assert await writer.add_offsets() is NONE
    assert await writer.commit_offset(3, version) is NONE
    assert await committed_offset(writer.client) == -1
    pending = await committed_offset(writer.client, require_stable=True)
    assert pending is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await writer.end(commit=True) is NONE
    assert await committed_offset(writer.client, require_stable=True) == 3


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE), (5, NONE)],
)
async def test_before_version_5_the_group_is_added_first(
    writer: Transactional, version: int, code: ErrorCode
) -> None:
    assert await writer.commit_offset(3, version) is code


async def test_a_group_has_a_name(writer: Transactional) -> None:
    request = writer.offsets(3)
    request.group_id = ""
    answer = await writer.client.ask(request)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_GROUP_ID


async def test_offsets_of_unknown_partitions_begin_no_transaction(writer: Transactional) -> None:
    request = writer.offsets(3)
    request.topics[0].partitions[0].partition_index = 7
    answer = await writer.client.ask(request)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.topics[0].partitions[0].error_code == unknown
    assert await writer.state() == "Empty"
