"""A batch's records, field by field, as Apache Kafka's broker reads them before it appends.

It reads the batches that record_walk.py refuses, and finds Kafka's error for them, or lets them
pass like Kafka. Kafka reads in three ways, which notice different mistakes:

- Records that are not compressed are read from the batch's buffer. A field may reach past its
  record, which is noticed at the record's end.
- Compressed records that are kept are read from a stream, and their keys and values are skipped. A
  record's length is not compared with its contents.
- Compressed records that are rewritten are read from a stream too, each as a whole, then its
  fields.

Source: Kafka's DefaultRecordBatch.RecordIterator, DefaultRecord.readFrom and readPartiallyFrom,
ByteUtils.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep
from typing import Final, NamedTuple, NoReturn

from kafkalite.wire.compression import Compression, UnfoldsTooLarge, copied
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import COMPRESSION_MASK, HEADER_BYTES, RecordBatch
from kafkalite.wire.record_format import BYTES_OF_A_PART, MOST_HEADERS, invalid_record
from kafkalite.wire.stream_decompression import decompress_stream

_NONE_REMAINING: Final = "Incorrect declared batch size, records still remaining in file"
_PREMATURE_END: Final = "Incorrect declared batch size, premature EOF reached"


class ReadRecord(NamedTuple):
    """A record's fields; -1 for the size of a key or value that is null."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    key_size: int
    value_size: int
    is_partial: bool


class _Ended(Exception):
    """The data ends inside of a field."""


class _TooLong(Exception):
    """A varint has more bytes than its type allows."""


def read_records(batch: RecordBatch, *, skips_contents: bool) -> Iterator[ReadRecord]:
    """The records of a batch, up to the first that Kafka cannot read.

    Args:
        skips_contents: True if the batch is kept as it is. Keys and values of compressed records
            are not read then.

    Raises:
        KafkaError(INVALID_RECORD): the records do not fit their lengths and counts.
        KafkaError(UNKNOWN_SERVER_ERROR): Kafka has no error code for it: data that cannot be
            decompressed, a length of too many bytes.
        KafkaError(MESSAGE_TOO_LARGE): the data decompress to more than a request may hold, or a
            record has too many headers. Kafka's only limit here is its memory.
    """
    codec = Compression(batch.attributes & COMPRESSION_MASK)
    try:
        data, is_broken = decompress_stream(codec, copied(batch.buffer[HEADER_BYTES:]))
    except UnfoldsTooLarge as error:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, str(error)) from error
    reader = _Reader(data, is_broken)
    read = reader.from_buffer
    if codec:
        read = reader.skipping if skips_contents else reader.from_stream
    for _ in range(batch.record_count):
        yield read()
    if reader.position < len(data):
        raise invalid_record(_NONE_REMAINING)
    if is_broken:
        raise _failed("Error checking for remaining bytes after reading batch")


def _failed(message: str) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message)


def _check_headers(count: int) -> None:
    if count > MOST_HEADERS:
        text = f"A record has {count} headers, and may have {MOST_HEADERS}"
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text)


class _Reader:
    """Reads one record after the other. `is_broken`: decompression failed after the data."""

    def __init__(self, data: bytes, is_broken: bool) -> None:
        self._data = data
        self._is_broken = is_broken
        self.position = 0
        self._limit = len(data)
        self._end_of_part = BYTES_OF_A_PART

    def from_buffer(self) -> ReadRecord:
        """The next record of a batch that is not compressed."""
        try:
            size = self._int32()
        except _Ended:
            raise invalid_record(_PREMATURE_END) from None
        except _TooLong:
            raise _failed("Varint is too long") from None
        if self._limit - self.position < size:
            raise invalid_record(
                f"Invalid record size: expected {size} bytes in record payload, but instead the "
                f"buffer has only {self._limit - self.position} remaining bytes."
            )
        return self._record(size)

    def from_stream(self) -> ReadRecord:
        """The next record of a stream, whole."""
        try:
            size = self._int32()
        except _Ended:
            self._at_end(_PREMATURE_END)
        except _TooLong:
            raise invalid_record(_PREMATURE_END) from None
        if size < 0:
            raise invalid_record(_PREMATURE_END)
        if self._limit - self.position < size:
            self._at_end(
                f"Invalid record size: expected {size} bytes in record payload, but the record "
                "payload reached EOF."
            )
        whole, self._limit = self._limit, self.position + size
        record = self._record(size)
        self._limit = whole
        return record

    def skipping(self) -> ReadRecord:
        """The next record of a stream, without its contents."""
        try:
            self._int32()
            self._skip(1)
            timestamp_delta = self._int64()
            offset_delta = self._int32()
            key_size = self._int32()
            self._skip(key_size)
            value_size = self._int32()
            self._skip(value_size)
            count = self._int32()
            if count < 0:
                raise invalid_record(f"Found invalid number of record headers {count}")
            # Fewer bytes than the headers need are found to be too few soon enough.
            if 2 * count <= self._limit - self.position:
                _check_headers(count)
            for _ in range(count):
                size = self._int32()
                if size < 0:
                    raise invalid_record(f"Invalid negative header key size {size}")
                self._skip(size)
                self._skip(self._int32())
        except _Ended:
            self._at_end("Found invalid record structure")
        except _TooLong:
            raise invalid_record("Found invalid record structure") from None
        return ReadRecord(offset_delta, timestamp_delta, None, None, (), key_size, value_size, True)

    def _at_end(self, message: str) -> NoReturn:
        if self._is_broken:
            raise _failed("Failed to decompress record stream")
        raise invalid_record(message)

    def _record(self, size: int) -> ReadRecord:
        start = self.position
        try:
            self._skip(1)
            timestamp_delta = self._int64()
            offset_delta = self._int32()
            key = self._bytes()
            value = self._bytes()
            headers = self._headers()
        except (_Ended, _TooLong):
            raise invalid_record("Found invalid record structure") from None
        if self.position - start != size:
            raise invalid_record(
                f"Invalid record size: expected to read {size} bytes in record payload, but "
                f"instead read {self.position - start}"
            )
        return ReadRecord(
            offset_delta,
            timestamp_delta,
            key,
            value,
            headers,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            False,
        )

    def _headers(self) -> tuple[tuple[str, bytes | None], ...]:
        count = self._int32()
        if count < 0 or count > self._limit - self.position:
            raise invalid_record(f"Found invalid number of record headers {count}")
        _check_headers(count)
        headers: list[tuple[str, bytes | None]] = []
        for _ in range(count):
            key = self._bytes()
            if key is None:
                raise invalid_record("Invalid negative header key size")
            headers.append((key.decode("utf-8", "replace"), self._bytes()))
        return tuple(headers)

    def _bytes(self) -> bytes | None:
        size = self._int32()
        if size < 0:
            return None
        start = self.position
        self._skip(size)
        return self._data[start : self.position]

    def _skip(self, size: int) -> None:
        if size > 0:
            if self._limit - self.position < size:
                raise _Ended
            self.position += size
        if self.position > self._end_of_part:
            self._end_of_part = self.position + BYTES_OF_A_PART
            sleep(0)

    def _int32(self) -> int:
        return self._varint(5, 0xFFFFFFFF)

    def _int64(self) -> int:
        return self._varint(10, 0xFFFFFFFFFFFFFFFF)

    def _varint(self, most_bytes: int, mask: int) -> int:
        """A zigzag varint; bits beyond its type are lost, as in Java."""
        value = 0
        for i in range(most_bytes):
            if self.position >= self._limit:
                raise _Ended
            byte = self._data[self.position]
            self.position += 1
            value |= (byte & 127) << 7 * i
            if byte < 128:
                value &= mask
                return (value >> 1) ^ -(value & 1)
        raise _TooLong
