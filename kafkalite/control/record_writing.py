"""The records that a verb writes: a batch for each partition, in slices however many they are."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Final

import msgspec
from msgspec import UNSET

from kafkalite.control.answers import Place
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.durations import milliseconds
from kafkalite.control.operations.asking import refused
from kafkalite.control.partitioner import by_key
from kafkalite.control.problems import Problem
from kafkalite.control.questions import NewRecord, WriteRecords
from kafkalite.control.views import partition_of, topic_of
from kafkalite.log.append_info import AppendInfo
from kafkalite.log.checked_batch import CheckedBatch
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import TakesLong
from kafkalite.replica.partition import Partition
from kafkalite.requests.slices import AT_ONCE, WaitingSteps, batches
from kafkalite.wire.compression import MAX_DECOMPRESSED_BYTES
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch

# Lengths, deltas and attributes of a record.
_LEAST_BYTES: Final = 7

_Run = tuple[Record, int]
"""A record, and how often it is written."""


def writing(cluster: ControlledCluster, request: WriteRecords) -> WaitingSteps[list[Place]]:
    """Append the records; where each of them is. Raises Problem."""
    now_ms = cluster.clock.now_ms()
    runs: dict[int, list[_Run]] = {}
    for each in request.records:
        record = _record(each, now_ms)
        index = each.partition
        if index is None:
            index = by_key(record.key, len(topic_of(cluster.broker, request.topic).partitions))
        runs.setdefault(index, []).append((record, each.count))
        yield None
    places: list[Place] = []
    for index, of_partition in runs.items():

        def find(index: int = index) -> Partition:
            return partition_of(cluster.broker, request.topic, index)

        try:
            info = yield from _appending(find, of_partition)
        except KafkaError as error:
            raise refused(error, f"{request.topic}-{index} takes no records") from None
        for some in batches(range(info.base_offset, info.last_offset + 1)):
            places += [Place(index, offset) for offset in some]
            yield None
    return places


def _appending(find: Callable[[], Partition], runs: Sequence[_Run]) -> WaitingSteps[AppendInfo]:
    """Append the records as a batch, to the partition that there is then.

    A batch that takes long is built, and checked, in a thread. Raises KafkaError and Problem.
    """
    _check_size(runs, find().log.config)
    built = bytearray()

    def build() -> None:
        built.extend(build_batch(chain.from_iterable(repeat(*run) for run in runs)))

    if sum(count for _, count in runs) > AT_ONCE:
        yield build
    else:
        build()
    done: list[AppendInfo] = []

    def append(checked: CheckedBatch | None = None) -> None:
        done.append(find().append(built, checked=checked, briefly=True))

    try:
        append()
    except TakesLong:
        checked = CheckedBatch(built, find().log)
        yield from checked.appending(partial(append, checked))
    return done[0]


def _check_size(runs: Sequence[_Run], config: LogConfig) -> None:
    """Refuse what no log takes before it is built. Raises KafkaError(MESSAGE_TOO_LARGE)."""
    size = sum((_LEAST_BYTES + _size(record)) * count for record, count in runs)
    most = config.max_message_bytes if config.keeps_batches else MAX_DECOMPRESSED_BYTES
    if size > most:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"one batch of them has at least {size} bytes, and may have {most}",
        )


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _record(new: NewRecord, now_ms: int) -> Record:
    timestamp = now_ms
    if isinstance(new.timestamp, str):
        timestamp = now_ms + milliseconds(new.timestamp, field="timestamp")
    elif new.timestamp is not None:
        timestamp = new.timestamp
    return Record(
        timestamp=timestamp,
        key=_bytes(new.key, new.key_encoding),
        value=_value(new),
        headers=[
            *((name, value.encode()) for name, value in new.headers.items()),
            *((each.name, _bytes(each.value, each.value_encoding)) for each in new.all_headers),
        ],
    )


def _value(new: NewRecord) -> bytes | None:
    """The value in the one way that it is written. Raises Problem."""
    ways = (new.value is not None, new.json is not UNSET, new.base64 is not None)
    if sum(ways) > 1:
        raise Problem("invalid_record", "a record has one of `value`, `json` and `base64`")
    if new.json is not UNSET:
        return msgspec.json.encode(new.json)
    if new.base64 is not None:
        return _bytes(new.base64, "base64")
    return _bytes(new.value, new.value_encoding)


def _bytes(value: str | None, encoding: str) -> bytes | None:
    """Raises Problem."""
    if value is None:
        return None
    if encoding != "base64":
        return value.encode()
    try:
        return base64.b64decode(value, validate=True)
    except ValueError as error:
        raise Problem("invalid_record", f"{value!r} is no base64: {error}", value=value) from None
