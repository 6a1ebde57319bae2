"""TxnOffsetCommit: offsets count once their transaction is committed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.apis import txn_offset_commit
from kafkalite.coordinators.produce_transactions import VERIFIES
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as a_broker
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition
from kafkalite.wire.rows import rows_of
from tests.kafkalite.transactional import (
    NONE,
    TOPIC,
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


@pytest.mark.parametrize(("epoch", "code"), [(0, NONE), (-1, ErrorCode.UNKNOWN_SERVER_ERROR)])
async def test_where_nobody_verifies_a_batch_still_needs_an_epoch(
    writer: Transactional, broker: a_broker, epoch: int, code: ErrorCode
) -> None:
    broker._running.services.config.set_dynamic(None, {VERIFIES: "false"})
    request = writer.offsets(3)
    request.producer_epoch = epoch
    answer = await writer.client.ask(request, 4)
    assert answer.topics[0].partitions[0].error_code == code


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


async def test_very_many_unknown_topics_are_looked_up_in_slices(
    writer: Transactional, broker: a_broker
) -> None:
    assert await writer.state() == "Empty"
    unknown: Any = [(f"new{number}", [(0, 7, -1, None)]) for number in range(10_000)]
    slices = txn_offset_commit.names_any(broker._running.services, unknown)
    assert len(list(slices)) == 39
    known: Any = [*unknown, (TOPIC, [(7, 7, -1, None), (0, 7, -1, None)])]
    assert at_once(txn_offset_commit.names_any(broker._running.services, known))


@pytest.mark.parametrize("ends", [False, True])
async def test_very_many_offsets_of_a_transaction_that_ends_meanwhile(
    writer: Transactional, broker: a_broker, ends: bool
) -> None:
    """They are checked in slices, and none is written after the marker."""
    assert await writer.add_offsets() is NONE
    request = writer.offsets(3)
    request.topics[0].partitions = [
        TxnOffsetCommitRequestPartition(partition_index=index % 2, committed_offset=3)
        for index in range(2000)
    ]
    context: Any = SimpleNamespace(
        node_id=1, api_version=4, client_id="c", client_host="h", guard_of=None
    )
    row: Any = rows_of(request)
    slices = txn_offset_commit._commit(broker._running.services, context, row)
    for _ in range(3):
        next(slices)
    if ends:
        assert await writer.end(commit=False, version=4) is NONE
    _, ((_, outcomes),) = drained(slices)
    code = ErrorCode.TRANSACTION_ABORTABLE if ends else NONE
    assert {error_code for _, error_code in outcomes} == {code}
    pending = await committed_offset(writer.client, require_stable=True)
    assert pending == (-1 if ends else ErrorCode.UNSTABLE_OFFSET_COMMIT)
