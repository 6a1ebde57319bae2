"""Metadata records to and from the values of the metadata log.

A value is `frame version: uvarint = 1, record type: uvarint, record version: uvarint, body`
(Kafka's MetadataRecordSerde).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from kafkalite.wire.bodies import build_body, join, parse_body
from kafkalite.wire.declare import message_of
from kafkalite.wire.errors import ErrorCode, KafkaError

_FRAME_VERSION: Final = 1

_RECORD_TYPES: Final = {
    0: "register_broker_record",
    1: "unregister_broker_record",
    2: "topic_record",
    3: "partition_record",
    4: "config_record",
    5: "partition_change_record",
    7: "fence_broker_record",
    8: "unfence_broker_record",
    9: "remove_topic_record",
    10: "delegation_token_record",
    11: "user_scram_credential_record",
    12: "feature_level_record",
    14: "client_quota_record",
    15: "producer_ids_record",
    17: "broker_registration_change_record",
    18: "access_control_entry_record",
    19: "remove_access_control_entry_record",
    20: "no_op_record",
    21: "zk_migration_state_record",
    22: "remove_user_scram_credential_record",
    23: "begin_transaction_record",
    24: "end_transaction_record",
    25: "abort_transaction_record",
    26: "remove_delegation_token_record",
    27: "register_controller_record",
    28: "clear_elr_record",
}

# Where the highest version is not the one to write: Kafka writes the lowest that says everything.
_WRITE_VERSION: Final = {"BrokerRegistrationChangeRecord": 1}


def encode_record(record: object) -> bytes:
    """The value that stands for a record in the log."""
    message = message_of(type(record))
    version = _WRITE_VERSION.get(type(record).__name__, message.max_version)
    header = _uvarint(_FRAME_VERSION) + _uvarint(message.key) + _uvarint(version)
    return header + join(build_body(record, version))


def decode_record(value: bytes) -> object:
    """The record a value stands for. Raises KafkaError(CORRUPT_MESSAGE) for what is none of ours."""
    frame_version, position = _read_uvarint(value, 0)
    record_type, position = _read_uvarint(value, position)
    version, position = _read_uvarint(value, position)
    class_ = _class_of(record_type)
    if frame_version != _FRAME_VERSION or class_ is None:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"no metadata record: frame version {frame_version}, type {record_type}",
        )
    return parse_body(class_, version, value, position)


@cache
def _class_of(record_type: int) -> type[Any] | None:
    """The declared class of a record type, imported when the type is first met."""
    name = _RECORD_TYPES.get(record_type)
    if name is None:
        return None
    module = import_module(f"kafkalite.wire.messages.records.{name}")
    class_: type[Any] = getattr(module, name.title().replace("_", ""))
    return class_


def _uvarint(value: int) -> bytes:
    output = bytearray()
    while value >= 0x80:
        output.append((value & 0x7F) | 0x80)
        value >>= 7
    output.append(value)
    return bytes(output)


def _read_uvarint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
