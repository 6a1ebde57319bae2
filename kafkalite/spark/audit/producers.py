"""Producers: their sequences, epochs and transactions, over all batches of a partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalite.spark.audit.batches import Segment
from kafkalite.spark.audit.findings import Findings
from kafkalite.wire.control_records import ControlRecordType, read_end_transaction_marker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import CONTROL_FLAG, TRANSACTIONAL_FLAG

_SEQUENCES: Final = 2**31


class Aborted(NamedTuple):
    """An aborted transaction: `first_offset` is -1 if none of its records is in the log."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Transactions:
    """The outcome of a partition's transactions."""

    committed: int = 0
    aborted: list[Aborted] = field(default_factory=list[Aborted])
    open: dict[int, int] = field(default_factory=dict[int, int])
    """Producer id to first offset."""


class _Batches(NamedTuple):
    """The batches of producers with an id, in the order of the log."""

    producer: Any
    epoch: Any
    sequence: Any
    count: Any
    base: Any
    last: Any
    control: Any
    transactional: Any
    segment: Any
    row: Any


def check_producers(segments: list[Segment], findings: Findings, clean_up_to: int) -> Transactions:
    """Sequences and transactions. Below `clean_up_to` batches may have been compacted away."""
    batches = _collect(segments)
    if batches is None:
        return Transactions()
    _check_sequences(segments, batches, findings, clean_up_to)
    return _follow_transactions(segments, batches, findings)


def _collect(segments: list[Segment]) -> _Batches | None:
    parts: list[list[Any]] = []
    for number, segment in enumerate(segments):
        fields = segment.fields
        rows = np.flatnonzero(segment.crc_ok & (fields["producer_id"] >= 0))
        some = fields[rows]
        attributes = some["attributes"]
        parts.append(
            [
                some["producer_id"].astype(np.int64),
                some["producer_epoch"].astype(np.int64),
                some["base_sequence"].astype(np.int64),
                some["last_offset_delta"].astype(np.int64) + 1,
                segment.base_offsets[rows],
                segment.last_offsets[rows],
                (attributes & CONTROL_FLAG) != 0,
                (attributes & TRANSACTIONAL_FLAG) != 0,
                np.full(len(rows), number),
                rows,
            ]
        )
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return _Batches(*joined) if joined and len(joined[0]) else None


def _check_sequences(
    segments: list[Segment], batches: _Batches, findings: Findings, clean_up_to: int
) -> None:
    """Per producer, in the order of the log: each batch goes on where the one before ended."""
    data = np.flatnonzero(~batches.control & (batches.sequence >= 0))
    order = data[np.lexsort((batches.base[data], batches.producer[data]))]
    if len(order) < 2:
        return
    previous, current = order[:-1], order[1:]
    same = batches.producer[previous] == batches.producer[current]
    epochs = batches.epoch[current] - batches.epoch[previous]
    for i in np.flatnonzero(same & (epochs < 0)).tolist():
        at = current[i]
        _add(
            segments,
            batches,
            findings,
            at,
            "producer-epoch",
            f"producer {batches.producer[at]}: epoch {batches.epoch[at]} behind "
            f"{batches.epoch[previous[i]]}",
        )
    expected = (batches.sequence[previous] + batches.count[previous]) % _SEQUENCES
    expected = np.where(epochs > 0, 0, expected)
    ahead = (batches.sequence[current] - expected) % _SEQUENCES
    wrong = same & (epochs >= 0) & (ahead != 0)
    for i in np.flatnonzero(wrong).tolist():
        at = current[i]
        is_gap = ahead[i] < _SEQUENCES // 2
        if is_gap and batches.base[previous[i]] < clean_up_to:
            continue  # compaction took what was between
        _add(
            segments,
            batches,
            findings,
            at,
            "sequence-gap" if is_gap else "sequence-duplicate",
            f"producer {batches.producer[at]}, epoch {batches.epoch[at]}: sequence "
            f"{batches.sequence[at]} where {expected[i]} was to come",
        )


def _follow_transactions(
    segments: list[Segment], batches: _Batches, findings: Findings
) -> Transactions:
    """Transactions that were committed, aborted, or are open; and who wrote beside one."""
    found = Transactions()
    busy = np.unique(batches.producer[batches.transactional])
    for i in np.flatnonzero(np.isin(batches.producer, busy)).tolist():
        producer = int(batches.producer[i])
        if not batches.control[i]:
            if batches.transactional[i]:
                found.open.setdefault(producer, int(batches.base[i]))
            elif producer in found.open:
                _add(
                    segments,
                    batches,
                    findings,
                    i,
                    "mixed-transaction",
                    f"producer {producer} has a transaction open since offset "
                    f"{found.open[producer]}, and this batch is not part of it",
                )
            continue
        try:
            marker = read_end_transaction_marker(
                segments[batches.segment[i]].batch(int(batches.row[i]))
            )
        except KafkaError as error:
            _add(segments, batches, findings, i, "records", error.message or error.code.name)
            continue
        if marker is None:
            continue
        first = found.open.pop(producer, -1)
        if marker.control_type is ControlRecordType.ABORT:
            found.aborted.append(Aborted(producer, first, int(batches.last[i])))
        elif first >= 0:
            found.committed += 1
    for producer, first in found.open.items():
        findings.add("open-transaction", f"of producer {producer}", offset=first)
    return found


def _add(
    segments: list[Segment], batches: _Batches, findings: Findings, i: int, kind: str, message: str
) -> None:
    segment = segments[batches.segment[i]]
    findings.add(
        kind,
        message,
        file=segment.path.name,
        position=segment.positions[batches.row[i]],
        offset=batches.base[i],
    )
