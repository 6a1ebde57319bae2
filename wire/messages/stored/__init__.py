"""Keys and values of the records that Kafka keeps in its logs, one file per record type.

The bytes before a body depend on its kind:

- values, the consumer protocol, transaction markers, producer snapshots: an int16 version,
- keys of a coordinator's records, which have one version each: an int16 record type,
- records of the metadata log: three varints, which are frame version 1, record type and version,
- control records of KRaft: nothing, as their first field is their version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeVar

from kafkalite.wire.compile_build import BUILD_ODDITIES, Builder
from kafkalite.wire.compile_rows import RowBuilderWriter
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.fields import Records, unsigned_varint
from kafkalite.wire.message_codec import build_body, builder_of, join, parse_body, parser_of
from kafkalite.wire.parse_support import PARSE_ODDITIES
from kafkalite.wire.rows import message_of_row
from kafkalite.wire.schema import Kind, message_of

T = TypeVar("T")

METADATA_FRAME_VERSION: Final = 1

# Record type -> module, for each topic of coordinators, and for the metadata log.
CONSUMER_OFFSETS: Final = {
    0: "legacy_offset_commit",
    1: "offset_commit",
    2: "group_metadata",
    3: "consumer_group_metadata",
    4: "consumer_group_partition_metadata",
    5: "consumer_group_member_metadata",
    6: "consumer_group_target_assignment_metadata",
    7: "consumer_group_target_assignment_member",
    8: "consumer_group_current_member_assignment",
    10: "share_group_member_metadata",
    11: "share_group_metadata",
    12: "share_group_target_assignment_metadata",
    13: "share_group_target_assignment_member",
    14: "share_group_current_member_assignment",
    15: "share_group_state_partition_metadata",
    16: "consumer_group_regular_expression",
    17: "streams_group_metadata",
    19: "streams_group_member_metadata",
    20: "streams_group_target_assignment_metadata",
    21: "streams_group_target_assignment_member",
    22: "streams_group_current_member_assignment",
    23: "streams_group_topology",
}
TRANSACTION_STATE: Final = {0: "transaction_log"}
SHARE_GROUP_STATE: Final = {0: "share_snapshot", 1: "share_update"}
METADATA: Final = {
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


# The bytes before a body, and its builder; by class and version, filled at first use.
_encoders: dict[tuple[type[Any], int], tuple[bytes, Builder]] = {}


def prepare(*keys: type[Any]) -> None:
    """Make the encoders of these keys and their values now, in the thread that imports the caller:
    `encode` would take a millisecond for each."""
    for key in keys:
        _encoder(key, 0)
        _encoder(_value_class(key), 0)


def _encoder(class_: type[Any], version: int) -> tuple[bytes, Builder]:
    found = _encoders.get((class_, version))
    if found is None:
        found = _encoders[class_, version] = _prefix(class_, version), builder_of(class_, version)
    return found


def encode(value: object, version: int = 0) -> bytes:
    """A key, value or record as it is kept, in the given version; raises InvalidMessage."""
    class_ = type(value)
    prefix, build = _encoders.get((class_, version)) or _encoder(class_, version)
    parts = [prefix]
    chunks: list[Records] = []
    try:
        build(value, parts, chunks)
    except BUILD_ODDITIES:
        pass  # not here: the exception would keep what was built so far
    else:
        if not chunks:
            return b"".join(parts)
    return prefix + join(build_body(value, version))


def row_encoder(class_: type[Any], version: int = 0) -> Callable[[tuple[Any, ...]], bytes]:
    """A function that encodes rows (rows.py) of a key, value or record; raises InvalidMessage."""
    prefix = _prefix(class_, version)
    flexible = message_of(class_).is_flexible(version)
    build = RowBuilderWriter(version, flexible=flexible).compile(class_)

    def encode_row(row: tuple[Any, ...]) -> bytes:
        parts = [prefix]
        try:
            build(row, parts, [])
            return b"".join(parts)
        except BUILD_ODDITIES:
            pass  # not here: the exception would keep what was built so far
        return encode(message_of_row(class_, row), version)

    return encode_row


def _prefix(class_: type[Any], version: int) -> bytes:
    message = message_of(class_)
    if not message.min_version <= version <= message.max_version:
        raise InvalidMessage(f"{class_.__name__} has no version {version}")
    if message.kind is Kind.VERSIONED:
        return b""
    if message.kind is Kind.METADATA_RECORD:
        head = unsigned_varint(METADATA_FRAME_VERSION) + unsigned_varint(message.key)
        return head + unsigned_varint(version)
    prefix = message.key if message.kind is Kind.RECORD_KEY else version
    return prefix.to_bytes(2, "big")


def decode(class_: type[T], data: bytes) -> T:
    """A key, value or record of a known class; raises ProtocolViolation."""
    message = message_of(class_)
    if message.kind is Kind.METADATA_RECORD:
        record_type, version, position = _metadata_prefix(data)
        if record_type != message.key:
            raise ProtocolViolation(f"record type {record_type}", field_path=class_.__name__)
    else:
        version, position = _int16_prefix(data), 2
        if message.kind is Kind.RECORD_KEY:
            if version != message.key:
                raise ProtocolViolation(f"record type {version}", field_path=class_.__name__)
            version = message.max_version
        elif message.kind is Kind.VERSIONED:
            position = 0
    if not message.min_version <= version <= message.max_version:
        raise ProtocolViolation(f"unknown version {version}", field_path=class_.__name__)
    return parse_body(class_, version, data, position)


def decode_front(class_: type[T], data: bytes, version: int | None = None) -> T:
    """A value whose versions only append, as the consumer protocol's do; raises ProtocolViolation.

    The bytes after its fields are passed over. A version above ours is read as the highest that we
    know; with `version` the data are read as that one, whichever they say they are.
    """
    message = message_of(class_)
    said = _int16_prefix(data)
    read = min(said, message.max_version) if version is None else version
    if read < message.min_version:
        raise ProtocolViolation(f"unknown version {said}", field_path=class_.__name__)
    try:
        found: T = parser_of(class_, read, whole=False)(data, 2, len(data))
    except UnicodeDecodeError:
        pass  # the reference codec reads such strings, as Kafka does
    except PARSE_ODDITIES:
        # It would say which byte, but takes long to import, and clients do send such data.
        raise ProtocolViolation(f"no version {read}", field_path=class_.__name__) from None
    else:
        return found
    return parse_body(class_, read, data, 2, whole=False)


def decode_key(data: bytes, types: dict[int, str]) -> Any | None:
    """A coordinator's record key; None for a record type that a later version must have written.

    `types` is one of the tables above.
    """
    module = types.get(_int16_prefix(data))
    return None if module is None else decode(_class_in(module, "Key"), data)


def value_class_of(key: object) -> type[Any]:
    """The class of the value that belongs to a key."""
    return _value_class(type(key))


def _value_class(key: type[Any]) -> type[Any]:
    return _class_in(key.__module__.rpartition(".")[2], "Value")


def decode_metadata_record(data: bytes) -> Any:
    """A record of the metadata log.

    Raises ProtocolViolation, also for an unknown type or version.
    """
    record_type, _, _ = _metadata_prefix(data)
    module = METADATA.get(record_type)
    if module is None:
        raise ProtocolViolation(f"unknown record type {record_type}")
    return decode(_class_in(module, ""), data)


@cache
def _class_in(module: str, suffix: str) -> type[Any]:
    found = import_module(f"kafkalite.wire.messages.stored.{module}")
    class_: type[Any] = getattr(found, module.title().replace("_", "") + suffix)
    return class_


def _int16_prefix(data: bytes) -> int:
    if len(data) < 2:
        raise ProtocolViolation(f"2 bytes of version expected, {len(data)} left")
    return int.from_bytes(data[:2], "big", signed=True)


def _metadata_prefix(data: bytes) -> tuple[int, int, int]:
    """Record type, version, and the position after them."""
    values: list[int] = []
    position = 0
    for _ in range(3):
        shift = value = 0
        while True:
            if position == len(data) or shift > 28:
                raise ProtocolViolation("a frame of three varints expected", position=position)
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        values.append(value)
    frame_version, record_type, version = values
    if frame_version != METADATA_FRAME_VERSION:
        raise ProtocolViolation(f"unknown frame version {frame_version}")
    return record_type, version, position
