"""Records of aborted transactions, for share groups that read only what is committed.

They are archived as soon as they are acquired, and the member is not told that they are its own.
Source: Kafka's SharePartition.filterAbortedTransactionalAcquiredRecords.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kafkalite.log.reading import Aborted
from kafkalite.replica.share.acquisition import Acquired
from kafkalite.replica.share.in_flight import RecordState
from kafkalite.replica.share.share_partition import SharePartition
from kafkalite.wire.control_records import ControlRecordType, read_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import RecordBatch


def without_aborted(
    partition: SharePartition,
    acquired: list[Acquired],
    fetched: Sequence[RecordBatch],
    aborted: Sequence[Aborted],
) -> list[Acquired]:
    """Archive what was acquired of aborted transactions; what is left.

    Raises KafkaError(UNKNOWN_SERVER_ERROR), as Kafka's fetchSubMap: an aborted batch begins before
    all that the share partition knows of. What was acquired stays so until its lock ends.
    """
    if not aborted or not acquired:
        return acquired
    for batch in aborted_batches(fetched, aborted):
        floor = partition.batches.floor(batch.base_offset)
        if floor is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        touched = partition.batches.beginning_in(floor.first_offset, batch.last_offset)
        partition.remove(
            batch.base_offset,
            batch.last_offset + 1,
            touched,
            counted=True,
            state=RecordState.ACQUIRED,
        )
        acquired = list(_cut_out(acquired, batch.base_offset, batch.last_offset))
    return acquired


def aborted_batches(
    fetched: Iterable[RecordBatch], aborted: Sequence[Aborted]
) -> list[RecordBatch]:
    """The batches with data of aborted transactions."""
    waiting = sorted(((first, producer_id) for producer_id, first in aborted), reverse=True)
    aborted_ids: set[int] = set()
    found: list[RecordBatch] = []
    for batch in fetched:
        if not batch.has_producer_id:
            continue
        while waiting and waiting[-1][0] <= batch.last_offset:
            aborted_ids.add(waiting.pop()[1])
        if batch.is_control:
            marker = read_end_transaction_marker(batch)
            if marker is not None and marker.control_type is ControlRecordType.ABORT:
                aborted_ids.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in aborted_ids:
            found.append(batch)
    return found


def _cut_out(
    acquired: Iterable[Acquired], first_offset: int, last_offset: int
) -> Iterator[Acquired]:
    for each in acquired:
        if each.last_offset < first_offset or each.first_offset > last_offset:
            yield each
            continue
        if each.first_offset < first_offset:
            yield each._replace(last_offset=first_offset - 1)
        if each.last_offset > last_offset:
            yield each._replace(first_offset=last_offset + 1)
