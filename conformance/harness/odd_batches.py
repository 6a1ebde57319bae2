"""Batches whose header and checksum are good, and whose records are not: one builder for every
kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import cramjam

from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.record_batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    pack_batch,
)
from kafkalite.wire.record_format import write_varint

HOUR_MS = 3_600_000
Kind = Callable[[Compression, int], dict[str, Any]]
"""From a codec and the time in milliseconds to the arguments of `pack`."""


def varint(value: int) -> bytes:
    output = bytearray()
    write_varint(output, value)
    return bytes(output)


def field(data: bytes | None, size: int | None = None) -> bytes:
    """A key or value with its size, or with the size given."""
    if size is None:
        size = -1 if data is None else len(data)
    return varint(size) + (data or b"")


def record(
    offset_delta: int | bytes = 0,
    timestamp_delta: int | bytes = 0,
    *,
    key: bytes = field(b"key"),
    value: bytes = field(b"value"),
    headers: bytes = b"\0",
    attributes: bytes = b"\0",
    size: int | bytes | None = None,
    grows: int = 0,
) -> bytes:
    """A record from its fields as they lie there; its size is right unless it is given, or
    `grows`."""
    body = b"".join(
        (
            attributes,
            timestamp_delta if isinstance(timestamp_delta, bytes) else varint(timestamp_delta),
            offset_delta if isinstance(offset_delta, bytes) else varint(offset_delta),
            key,
            value,
            headers,
        )
    )
    if size is None:
        size = len(body) + grows
    return (size if isinstance(size, bytes) else varint(size)) + body


def three(**second: Any) -> bytes:
    """Three records, of which the second is odd."""
    odd: dict[str, Any] = {"offset_delta": 1, **second}
    return record(0) + record(**odd) + record(2)


def pack(
    codec: Compression,
    now_ms: int,
    *,
    inner: bytes = three(),
    outer: bytes | None = None,
    count: int = 3,
    last_offset_delta: int | None = None,
    attributes: int = 0,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    **producer: int,
) -> bytes:
    """A batch of the records `inner`, or of the bytes `outer` as if they were compressed ones."""
    return pack_batch(
        compress(codec, inner) if outer is None else outer,
        base_offset=0,
        last_offset_delta=count - 1 if last_offset_delta is None else last_offset_delta,
        record_count=count,
        base_timestamp=now_ms if base_timestamp is None else base_timestamp,
        max_timestamp=now_ms if max_timestamp is None else max_timestamp,
        attributes=attributes | codec,
        **producer,
    )


def noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


def _inner(data: bytes, **fields: Any) -> Kind:
    return lambda codec, now_ms: {"inner": data, **fields}


def _second(**fields: Any) -> Kind:
    return _inner(three(**fields))


def _outer(change: Callable[[bytes], bytes]) -> Kind:
    return lambda codec, now_ms: {"outer": change(compress(codec, three()))}


def _header(**fields: Any) -> Kind:
    return lambda codec, now_ms: dict(fields)


def _timed(deltas: Sequence[int], **fields: Any) -> Kind:
    data = b"".join(record(i, delta) for i, delta in enumerate(deltas))
    return lambda codec, now_ms: {
        "inner": data,
        "max_timestamp": now_ms + max(deltas),
        **{name: now_ms + shift for name, shift in fields.items()},
    }


def _lz4(flags: int, **options: Any) -> Kind:
    def make(codec: Compression, now_ms: int) -> dict[str, Any]:
        if codec is not Compression.LZ4:
            return {}
        compressor = cramjam.lz4.Compressor(**options)
        compressor.compress(three())
        data = bytearray(compressor.finish())
        if flags:
            data[-1] ^= flags
        return {"outer": bytes(data)}

    return make


def _raw_snappy(codec: Compression, now_ms: int) -> dict[str, Any]:
    if codec is not Compression.SNAPPY:
        return {}
    return {"outer": bytes(cramjam.snappy.compress_raw(three()))}


def _parts(codec: Compression, now_ms: int) -> dict[str, Any]:
    data = three()
    return {"outer": compress(codec, data[:20]) + compress(codec, data[20:])}


def _block_of_nothing(codec: Compression, now_ms: int) -> dict[str, Any]:
    """Between two blocks of lz4, behind the last of snappy."""
    if codec is Compression.SNAPPY:
        return {"outer": compress(codec, three()) + bytes(4)}
    if codec is not Compression.LZ4:
        return {}
    first, rest = (compress(codec, part) for part in (three()[:20], three()[20:]))
    return {"outer": first[:-4] + b"\0\0\0\x80" + rest[7:]}


def _snappy_version(codec: Compression, now_ms: int) -> dict[str, Any]:
    """And a header key that makes the broker read record by record."""
    data = three(headers=varint(1) + field(b"\xff") + field(b""))
    if codec is not Compression.SNAPPY:
        return {"inner": data}
    stream = compress(codec, data)
    return {"outer": stream[:8] + bytes(4) + stream[12:]}


KINDS: dict[str, Kind] = {
    "good": _header(),
    "noise for records": _inner(b"\x10" + noise(100)),
    "noise that begins with a long varint": _inner(b"\xff" * 12 + noise(100)),
    "zeros for records": _inner(bytes(100)),
    "no bytes for records": _inner(b""),
    "noise instead of the codec": lambda codec, now_ms: {"outer": noise(120)},
    "nothing instead of the codec": lambda codec, now_ms: {"outer": b""},
    "compressed data cut in half": _outer(lambda data: data[: len(data) // 2]),
    "compressed data without its last byte": _outer(lambda data: data[:-1]),
    "compressed data without its last five bytes": _outer(lambda data: data[:-5]),
    "three bytes behind compressed data": _outer(lambda data: data + b"abc"),
    "forty bytes behind compressed data": _outer(lambda data: data + noise(40)),
    "compressed data twice": _outer(lambda data: data + data),
    "a bit of compressed data flipped": _outer(
        lambda data: data[:-9] + bytes((data[-9] ^ 64,)) + data[-8:]
    ),
    "bytes behind the records": _inner(three() + b"\0\0"),
    "one record behind the last": _inner(three() + record(3)),
    "one record too few": _inner(record(0) + record(1)),
    "one byte too few": _inner(three()[:-1]),
    "count larger than the records": _header(count=4),
    "count smaller than the records": _header(count=2),
    "count 0": _header(count=0, last_offset_delta=2),
    "count negative": _header(count=-1, last_offset_delta=2),
    "count unlike the last offset": _header(last_offset_delta=5),
    "last offset negative": _header(last_offset_delta=-3),
    "a million records said": _header(count=1_000_000),
    "offsets all 0": _inner(record(0) * 3),
    "offsets backwards": _inner(record(2) + record(1) + record(0)),
    "offsets with a gap": _inner(record(0) + record(5) + record(9)),
    "offset negative": _second(offset_delta=-7),
    "offset beyond 32 bits": _second(offset_delta=b"\x82\x80\x80\x80\x10"),
    "offset of six bytes": _second(offset_delta=b"\x82\x80\x80\x80\x80\x00"),
    "offset in more bytes than needed": _second(offset_delta=b"\x82\x00"),
    "size one too small": _second(grows=-1),
    "size one too large": _second(grows=1),
    "size of two records": _second(grows=16),
    "size 0": _second(size=0),
    "size negative": _second(size=-20),
    "size huge": _second(size=2**24),
    "size of six bytes": _second(size=b"\xa0\x80\x80\x80\x80\x00"),
    "key reaches behind its record": _second(key=field(b"key", 9)),
    "key reaches behind the batch": _second(key=field(b"key", 2**20)),
    "key size of six bytes": _second(key=b"\x86\x80\x80\x80\x80\x00key"),
    "key size -5": _second(key=field(b"", -5)),
    "value size -3": _second(value=field(b"", -3)),
    "value reaches behind the batch": _second(value=field(b"value", 2**20)),
    "value of no bytes": _second(value=field(b"")),
    "value null": _second(value=field(None)),
    "headers": _second(headers=varint(2) + field(b"a") + field(b"1") + field(b"b") + field(None)),
    "header count negative": _second(headers=varint(-1)),
    "header count too large": _second(headers=varint(9) + field(b"a") + field(b"1")),
    "header count huge": _second(headers=varint(2**31 - 1)),
    "header without a key": _second(headers=varint(1) + field(None) + field(b"1")),
    "header key too long": _second(headers=varint(1) + field(b"a", 900) + field(b"1")),
    "header value too long": _second(headers=varint(1) + field(b"a") + field(b"1", 900)),
    "header key that is no text": _second(headers=varint(1) + field(b"\xff\xfe") + field(b"1")),
    "attributes of a record": _second(attributes=b"\x03"),
    "timestamp of eleven bytes": _second(timestamp_delta=b"\x80" * 10 + b"\x00"),
    "timestamp beyond 64 bits": _second(timestamp_delta=b"\x80" * 9 + b"\x7e"),
    "one timestamp 28 h ahead": _timed((0, 28 * HOUR_MS, 0)),
    "one timestamp 28 h ahead, not in the header": _timed((0, 28 * HOUR_MS, 0), max_timestamp=0),
    "one timestamp of 1970": _timed((0, -1_700_000_000_000, 0)),
    "timestamps from the second on": _timed((5, 0, 9)),
    "largest timestamp said too small": _timed((0, 500, 7), max_timestamp=3),
    "largest timestamp said too large": _timed((0, 500, 7), max_timestamp=900),
    "largest timestamp said 28 h ahead": _timed((0, 1, 2), max_timestamp=28 * HOUR_MS),
    "no timestamps": _header(base_timestamp=-1, max_timestamp=-1),
    "negative timestamps": _header(base_timestamp=-5000, max_timestamp=-5000),
    "all without keys": _inner(b"".join(record(i, key=field(None)) for i in range(3))),
    "one without a key": _second(key=field(None)),
    "control records": _header(attributes=CONTROL_FLAG),
    "stamped by the client": _header(attributes=LOG_APPEND_TIME_FLAG),
    "stamped by the client 28 h ahead": lambda codec, now_ms: {
        "attributes": LOG_APPEND_TIME_FLAG,
        "max_timestamp": now_ms + 28 * HOUR_MS,
    },
    "stamped by the client with no time": _header(
        attributes=LOG_APPEND_TIME_FLAG, max_timestamp=-1
    ),
    "a delete horizon": _header(attributes=DELETE_HORIZON_FLAG),
    "attribute 7": _header(attributes=0x80),
    "attribute 8": _header(attributes=0x100),
    "attribute 8, and a wrong largest timestamp": lambda codec, now_ms: {
        "attributes": 0x100,
        "max_timestamp": now_ms + 9,
    },
    "codec 7": _header(attributes=7),
    "linked blocks of lz4": _lz4(0, level=9, content_checksum=False, block_linked=True),
    "wrong content checksum of lz4": _lz4(1, level=9, content_checksum=True, block_linked=False),
    "one block of snappy": _raw_snappy,
    "compressed data in two streams": _parts,
    "a block of nothing": _block_of_nothing,
    "snappy of version 0": _snappy_version,
    "half a stream behind compressed data": _outer(lambda data: data + data[: len(data) // 2]),
    "an odd record, and compressed data without their last byte": lambda codec, now_ms: {
        "outer": compress(codec, three(key=field(b"key", 2**20)))[:-1]
    },
    "an odd record, and noise behind compressed data": lambda codec, now_ms: {
        "outer": compress(codec, three(key=field(b"key", -5), headers=varint(-1))) + noise(40)
    },
    "noise at the end of time": _inner(
        b"\x10" + noise(100), base_timestamp=2**63 - 1, max_timestamp=-1
    ),
    "records at the end of time": _inner(
        three(timestamp_delta=7), base_timestamp=2**63 - 1, max_timestamp=-1
    ),
}
"""Every kind by name; without a codec, what is odd about compression is a good batch, or other
noise."""
