"""The records of a partition as they are in its log, and as the verbs show them."""

from __future__ import annotations

import base64
import codecs
import heapq
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, TypeVar

from kafkalite.control.answers import FoundRecord, Header, RecordView
from kafkalite.log.open_files import FileSlice
from kafkalite.replica.partition import Partition
from kafkalite.requests.slices import Steps, batches, mapped, mapped_in_steps
from kafkalite.wire.record_batch import Record, iterate_batches, iterate_records

T = TypeVar("T")

# Read of a partition at a time.
_READ_BYTES = 1 << 20


def records_of(
    partition: Partition, start: int | None = None, *, committed_only: bool = False
) -> Iterator[Record]:
    """The records of a partition from an offset on; without aborted ones if `committed_only`."""
    offset = partition.log.log_start_offset if start is None else start
    offset = max(offset, partition.log.log_start_offset)
    limit = partition.read_limit(committed_only=committed_only)
    aborted: dict[int, list[int]] = {}
    while offset < limit:
        result = partition.read(offset, _READ_BYTES, committed_only=committed_only)
        for producer_id, first_offset in result.aborted_transactions or ():
            firsts = aborted.setdefault(producer_id, [])
            if first_offset not in firsts:
                firsts.append(first_offset)
        data = _bytes_of(result.records)
        after = offset
        for batch in iterate_batches(data):
            after = batch.next_offset
            firsts = aborted.get(batch.producer_id, [])
            if batch.is_control:
                # The marker of the oldest of the producer's transactions that were aborted.
                if firsts and firsts[0] <= batch.base_offset:
                    del firsts[0]
                continue
            if batch.is_transactional and firsts and firsts[0] <= batch.base_offset:
                continue
            for record in iterate_records(batch):
                if record.offset >= offset:
                    yield record
        if after <= offset:
            return
        offset = after


def _bytes_of(records: FileSlice | bytes) -> bytes:
    if isinstance(records, bytes):
        return records
    with records as slice_:
        return slice_.read()


def by_time(found: list[list[T]], time: Callable[[T], int]) -> Steps[list[T]]:
    """The records of partitions by time. Within one, their order is that of the offsets."""
    while len(found) > 1:
        found = yield from mapped_in_steps(partial(_merged, time), batches(found))
    return found[0] if found else []


def _merged(time: Callable[[T], int], found: list[list[T]]) -> Steps[list[T]]:
    return (yield from mapped(lambda each: each, heapq.merge(*found, key=time)))


def view(partition: int, record: Record) -> RecordView:
    """A record as JSON has it: text where it is text, else base 64."""
    return RecordView(partition=partition, **_fields(record))


def found(partition: int, record: Record, most_bytes: int | None) -> FoundRecord:
    """The same with its size; key, value and headers are cut to so many bytes."""
    size = size_of(record)
    return FoundRecord(partition=partition, size_bytes=size, **_fields(record, most_bytes))


def _fields(record: Record, most_bytes: int | None = None) -> dict[str, Any]:
    key, key_encoding = _shown(record.key, most_bytes)
    value, value_encoding = _shown(record.value, most_bytes)
    headers = [Header(name, *_shown(each, most_bytes)) for name, each in record.headers]
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": key,
        "value": value,
        "headers": {each.name: each.value for each in headers},
        "all_headers": headers,
        "key_encoding": key_encoding,
        "value_encoding": value_encoding,
    }


def size_of(record: Record) -> int:
    """The bytes of a record's key, value and headers."""
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(name.encode()) + len(each or b"") for name, each in record.headers)


def _shown(
    data: bytes | None, most_bytes: int | None
) -> tuple[str | None, Literal["utf-8", "base64"]]:
    if data is None:
        return None, "utf-8"
    some = bytes(data) if most_bytes is None else bytes(data[:most_bytes])
    try:
        # A letter that the cut goes through is left out.
        is_whole = len(some) == len(data)
        return codecs.getincrementaldecoder("utf-8")().decode(some, final=is_whole), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(some).decode(), "base64"
