"""The metadata log: `__cluster_metadata-0`, a log like any other, of Kafka's metadata records.

One `append` is one batch, so that after a crash a change is there as a whole or not at all: the
log's own recovery cuts a batch that was not written to its end. Each start of the cluster is a new
leader epoch, opened by a LeaderChange control batch as in KRaft (KIP-595).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from kafkalite.log.log import AppendOrigin
from kafkalite.metadata.records import decode_record, encode_record
from kafkalite.wire.bodies import build_body, join
from kafkalite.wire.control_records import ControlRecordType
from kafkalite.wire.messages.records.leader_change_message import LeaderChangeMessage, Voter
from kafkalite.wire.records import (
    Record,
    RecordBatch,
    build_batch,
    iterate_batches,
    iterate_records,
)

if TYPE_CHECKING:
    from kafkalite.log.log import Log
    from kafkalite.log.open_files import FileSlice

METADATA_TOPIC: Final = "__cluster_metadata"

_CONTROL_KEY = Struct(">hh")
_READ_BYTES: Final = 4 * 1024 * 1024


class MetadataLog:
    """Records in, records out. `leader_epoch` is 0 before the first start."""

    def __init__(self, log: Log, now_ms: Callable[[], int]) -> None:
        self._log = log
        self._now_ms = now_ms
        self.leader_epoch = 0

    @property
    def next_offset(self) -> int:
        """The offset of the next record written."""
        return self._log.log_end_offset

    def replay(self) -> Iterator[tuple[int, object]]:
        """All records with their offsets, from the beginning."""
        for batch in self._batches():
            self.leader_epoch = max(self.leader_epoch, batch.partition_leader_epoch)
            if batch.is_control:
                continue
            for record in iterate_records(batch):
                if record.value is not None:
                    yield record.offset, decode_record(record.value)

    def _batches(self) -> Iterator[RecordBatch]:
        offset = self._log.log_start_offset
        end = self._log.log_end_offset
        while offset < end:
            read = self._log.read(offset, _READ_BYTES, upper_bound=end)
            for batch in iterate_batches(_in_memory(read.records)):
                yield batch
                offset = batch.next_offset

    def become_leader(self, leader_id: int, voters: Sequence[int]) -> None:
        """Begin a new leader epoch."""
        self.leader_epoch += 1
        message = LeaderChangeMessage(
            version=0,
            leader_id=leader_id,
            voters=[Voter(voter_id=voter) for voter in voters],
            granting_voters=[Voter(voter_id=leader_id)],
        )
        record = Record(
            timestamp=self._now_ms(),
            key=_CONTROL_KEY.pack(0, ControlRecordType.LEADER_CHANGE),
            value=join(build_body(message, 0)),
        )
        self._append([record], is_control=True)

    def append(self, records: Sequence[object]) -> int:
        """Write records as one batch; the last one's offset."""
        now_ms = self._now_ms()
        return self._append(
            [Record(timestamp=now_ms, value=encode_record(record)) for record in records],
            is_control=False,
        )

    def flush(self) -> None:
        """Everything onto the disk. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        self._log.flush()

    def _append(self, records: Sequence[Record], *, is_control: bool) -> int:
        batch = build_batch(
            records, partition_leader_epoch=self.leader_epoch, is_control=is_control
        )
        info = self._log.append(
            batch, leader_epoch=self.leader_epoch, origin=AppendOrigin.COORDINATOR
        )
        return info.last_offset


def _in_memory(records: FileSlice | bytes) -> bytes:
    if isinstance(records, bytes):
        return records
    try:
        return records.read()
    finally:
        records.close()
