"""Metadata records to and from the values of the metadata log (framed as in Kafka's
MetadataRecordSerde)."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode, KafkaError, ProtocolViolation
from kafkalite.wire.messages.stored import decode_metadata_record, encode
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.schema import message_of


def encode_record(record: object) -> bytes:
    """The value that stands for a record in the log."""
    version = message_of(type(record)).max_version
    if isinstance(record, BrokerRegistrationChangeRecord):
        # Kafka writes the lowest version that says everything.
        version = 2 if record.log_dirs else 1
    return encode(record, version)


def decode_record(value: bytes) -> object:
    """The record a value stands for. Raises KafkaError(CORRUPT_MESSAGE) for what is none of
    ours."""
    try:
        record: object = decode_metadata_record(value)
    except ProtocolViolation as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no metadata record: {error}") from error
    return record
