"""Record batches in a story: good ones, odd ones, and such as no client makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.differential.generated_requests.references import (
    Around,
    Memory,
    Reference,
    producer,
)
from conformance.harness.odd_batches import KINDS, pack
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import Record, TimestampType, build_batch


@dataclass(frozen=True)
class OddBatch(Reference):
    """Three records, of which one is odd (odd_batches.py); of a producer or of none."""

    kind: str
    codec: Compression
    producer: int | None = None
    sequence: int = 0

    def resolve(self, memory: Memory, around: Around) -> bytes:
        fields = KINDS[self.kind](self.codec, memory.now_ms)
        if self.producer is not None:
            fields |= {
                "producer_id": self.producer,
                "producer_epoch": 0,
                "base_sequence": self.sequence,
            }
        return pack(self.codec, memory.now_ms, **fields)


@dataclass(frozen=True)
class Batch(Reference):
    """A record batch: of a transaction (`producer` "" for the one around), a plain producer,
    nobody."""

    count: int = 1
    codec: Compression = Compression.NONE
    later_ms: int = 0
    producer: str | int | None = None
    epoch: int = 0
    sequence: int = 0
    is_transactional: bool = False
    is_keyed: bool = True
    oddity: str = ""

    def resolve(self, memory: Memory, around: Around) -> bytes:
        first = memory.now_ms + self.later_ms
        records = [
            Record(
                timestamp=first + 10 * number,
                key=b"k%d" % number if self.is_keyed else None,
                value=b"v" * (number + 1),
            )
            for number in range(self.count)
        ]
        options: dict[str, Any] = {"compression": self.codec}
        if isinstance(self.producer, int):
            options |= {"producer_id": self.producer, "producer_epoch": self.epoch}
        elif self.producer is not None:
            producer_id, epoch = producer(self.producer, memory, around)
            options |= {
                "producer_id": producer_id,
                "producer_epoch": max(0, epoch + self.epoch),
                "is_transactional": self.is_transactional,
            }
        if self.producer is not None:
            options["base_sequence"] = self.sequence
        return ODDITIES[self.oddity](records, options)


def made(records: list[Record], options: dict[str, Any]) -> bytes:
    return build_batch(records, **options)


def patched(position: int, data: bytes) -> Callable[[list[Record], dict[str, Any]], bytes]:
    def make(records: list[Record], options: dict[str, Any]) -> bytes:
        batch = made(records, options)
        return batch[:position] + data + batch[position + len(data) :]

    return make


ODDITIES: dict[str, Callable[[list[Record], dict[str, Any]], bytes]] = {
    "": made,
    "twice": lambda records, options: made(records, options) * 2,
    "cut": lambda records, options: made(records, options)[:-3],
    "nothing": lambda records, options: b"",
    "no records": lambda records, options: made([], options),
    "not from 0": lambda records, options: made(records, {**options, "base_offset": 3}),
    "checksum": patched(17, b"\0\1\2\3"),
    "magic": patched(16, b"\1"),
    "length": patched(8, b"\0\0\0\0"),
    "control": lambda records, options: made(records[:1], {**options, "is_control": True}),
    "broker's time": lambda records, options: made(
        records,
        {
            **options,
            "timestamp_type": TimestampType.LOG_APPEND_TIME,
            "log_append_time_ms": records[0].timestamp,
        },
    ),
    "last offset": lambda records, options: made(records, {**options, "last_offset": 9}),
    "future": lambda records, options: made(
        [record._replace(timestamp=record.timestamp + 36_000_000) for record in records], options
    ),
    "tombstones": lambda records, options: made(
        [record._replace(value=None) for record in records], options
    ),
    "headers": lambda records, options: made(
        [record._replace(headers=[("h", b"1"), ("", None), ("h", b"")]) for record in records],
        options,
    ),
    "one key": lambda records, options: made(
        [record._replace(key=b"k0") for record in records], options
    ),
    "times backwards": lambda records, options: made(
        [
            record._replace(timestamp=records[0].timestamp - 20 * number)
            for number, record in enumerate(records)
        ],
        options,
    ),
    "no times": lambda records, options: made(
        [record._replace(timestamp=-1) for record in records], options
    ),
    "large": lambda records, options: made(
        [record._replace(value=b"large " * 100) for record in records], options
    ),
    "long ago": lambda records, options: made(
        [record._replace(timestamp=1) for record in records], options
    ),
}
