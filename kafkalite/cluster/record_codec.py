"""Metadata records to and from the values of the metadata log (framed as in Kafka's
MetadataRecordSerde)."""

from __future__ import annotations

from typing import Final

from kafkalite.wire.errors import ErrorCode, KafkaError, ProtocolViolation
from kafkalite.wire.messages.stored import decode_metadata_record, encode
from kafkalite.wire.schema import message_of

# Records not written in their highest version: Kafka writes the lowest that says everything.
_WRITE_VERSION: Final = {"BrokerRegistrationChangeRecord": 1}


def encode_record(record: object) -> bytes:
    """The value that stands for a record in the log."""
    name = type(record).__name__
    return encode(record, _WRITE_VERSION.get(name, message_of(type(record)).max_version))


def decode_record(value: bytes) -> object:
    """The record a value stands for. Raises KafkaError(CORRUPT_MESSAGE) for what is none of
    ours."""
    try:
        record: object = decode_metadata_record(value)
    except ProtocolViolation as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no metadata record: {error}") from error
    return record
