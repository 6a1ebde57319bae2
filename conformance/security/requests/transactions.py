"""Requests of transactions and about them."""

from __future__ import annotations

from typing import Any

from conformance.security.requests.vocabulary import (
    MISSING,
    TOPICS,
    TRANSACTIONS,
    Requests,
    TopicIds,
)
from kafkalite.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_transactions,
    end_txn,
    list_transactions,
    txn_offset_commit,
    write_txn_markers,
)


def _txn_commit(transaction: str, group: str) -> txn_offset_commit.TxnOffsetCommitRequest:
    partition = txn_offset_commit.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=1
    )
    return txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id=transaction,
        group_id=group,
        producer_id=1,
        producer_epoch=0,
        topics=[
            txn_offset_commit.TxnOffsetCommitRequestTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _add_partitions(transaction: str, *names: str) -> Any:
    return add_partitions_to_txn.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transaction,
        v3_and_below_producer_id=1,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[
            add_partitions_to_txn.AddPartitionsToTxnTopic(name=name, partitions=[0])
            for name in names
        ],
    )


def _part_0() -> Requests:
    return {
        "describe transactions": (
            describe_transactions.DescribeTransactionsRequest(transactional_ids=[*TRANSACTIONS]),
            None,
        ),
        "list transactions": (list_transactions.ListTransactionsRequest(), None),
        "write markers": (write_txn_markers.WriteTxnMarkersRequest(markers=[]), None),
    }


def transactions(ids: TopicIds) -> Requests:
    """By name."""
    made: Requests = {**_part_0()}
    for kind, transaction in zip(("open", "shut"), TRANSACTIONS, strict=True):
        made |= {
            f"add offsets, {kind}": (
                add_offsets_to_txn.AddOffsetsToTxnRequest(transaction, 1, 0, "open-group"),
                None,
            ),
            f"add shut offsets, {kind}": (
                add_offsets_to_txn.AddOffsetsToTxnRequest(transaction, 1, 0, "shut-group"),
                None,
            ),
            f"add partitions, {kind}": (_add_partitions(transaction, "open-topic"), 3),
            f"add mixed partitions, {kind}": (
                _add_partitions(transaction, *TOPICS, *MISSING),
                3,
            ),
            f"end, {kind}": (end_txn.EndTxnRequest(transaction, 1, 0, True), None),
            f"commit in transaction, {kind}": (_txn_commit(transaction, "open-group"), None),
            f"commit shut in transaction, {kind}": (_txn_commit(transaction, "shut-group"), None),
        }
    return made
