"""Faults in the writing of transaction markers."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.coordinators.transaction_coordinator.markers import MarkerWriter
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_coordinator.transaction import AT_REST, Transaction
from kafkalite.wire.errors import ErrorCode, KafkaError


def hinder(monkeypatch: pytest.MonkeyPatch, marker_count: int, *, completes: bool) -> None:
    """Only so many markers get written, and COMPLETE_* is or is not."""
    written: list[object] = []
    write_marker, write_state = MarkerWriter.write, TransactionLog.write

    def write_some(self: MarkerWriter, where: Any, *arguments: Any, **options: Any) -> None:
        if len(written) >= marker_count:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        written.append(where)
        write_marker(self, where, *arguments, **options)

    def write_unless_complete(self: TransactionLog, transaction: Transaction) -> None:
        if transaction.state in AT_REST and not completes:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        write_state(self, transaction)

    monkeypatch.setattr(MarkerWriter, "write", write_some)
    monkeypatch.setattr(TransactionLog, "write", write_unless_complete)
