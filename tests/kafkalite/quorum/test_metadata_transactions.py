"""Records of a metadata transaction count with its end, or not at all (KIP-868)."""

from __future__ import annotations

import pytest

from kafkalite.quorum.metadata_transactions import MetadataTransactions
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from kafkalite.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from kafkalite.wire.messages.stored.end_transaction_record import EndTransactionRecord

BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()


@pytest.mark.parametrize(
    ("batches", "counted"),
    [
        ([["a"], ["b", "c"]], [["a"], ["b", "c"]]),
        ([["a", BEGIN, "b"], ["c"], ["d", END, "e"]], [["a"], [], ["b", "c", "d", "e"]]),
        ([["a", BEGIN, "b"], ["c"], ["d", ABORT, "e"]], [["a"], [], ["e"]]),
        ([[BEGIN, END], [BEGIN, ABORT]], [[], []]),
        ([[BEGIN, "a", END, "b", BEGIN, "c"], [END]], [["a", "b"], ["c"]]),
    ],
)
def test_records_are_held_back_until_the_end(
    batches: list[list[object]], counted: list[list[object]]
) -> None:
    transactions = MetadataTransactions()
    assert [transactions.take(each) for each in batches] == counted
    assert not transactions.is_open


@pytest.mark.parametrize("records", [[BEGIN, BEGIN], [END], [ABORT], [BEGIN, END, END]])
def test_what_is_no_transaction_is_corrupt(records: list[object]) -> None:
    with pytest.raises(KafkaError) as caught:
        MetadataTransactions().take(records)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_what_was_held_back_can_be_dropped() -> None:
    """A snapshot or a truncation takes the place of what came before."""
    transactions = MetadataTransactions()
    assert transactions.take([BEGIN, "a"]) == []
    assert transactions.is_open
    transactions.clear()
    assert not transactions.is_open
    assert transactions.take(["b"]) == ["b"]
