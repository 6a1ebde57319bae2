"""Answers that are changed, made up or damaged: fields of messages by dotted paths, bytes of
batches.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final, cast
from uuid import UUID

from kafkalite.control.faults.matching import TopicPlace
from kafkalite.control.problems import Problem
from kafkalite.log.open_files import FileSlice
from kafkalite.requests.names import TopicName, class_of, listed, shown_topic, topic_of
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.fields import FieldType, Records
from kafkalite.wire.record_batch import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    HEADER_BYTES,
    Record,
    build_batch,
    iterate_batches,
    iterate_records,
)
from kafkalite.wire.schema import FIELDS, Field, Shape, fields_of

_LENGTH_POSITION: Final = 8  # in a batch's header


def copied(message: Any) -> Any:
    """A message of its own, down to the last struct; records are the same objects."""
    several = listed(message)
    if several is not None:
        return [copied(each) for each in several]
    if not dataclasses.is_dataclass(message) or isinstance(message, type):
        return message
    declared = getattr(type(message), FIELDS, None)
    if declared is None:
        return message
    return dataclasses.replace(
        cast(Any, message), **{each.name: copied(getattr(message, each.name)) for each in declared}
    )


def patch(message: Any, changes: dict[str, Any]) -> None:
    """Set fields of a message: "topics.*.partitions.0.leader_id". Raises Problem for no such
    field.
    """
    for path, value in changes.items():
        _set(message, path.split("."), value, path)


def _set(target: Any, path: list[str], value: Any, whole: str) -> None:
    head, rest = path[0], path[1:]
    several = listed(target)
    if several is not None:
        if head == "*":
            chosen = list(range(len(several)))
        elif head.isdigit() and int(head) < len(several):
            chosen = [int(head)]
        else:
            return  # this answer has no such element
        for index in chosen:
            if rest:
                _set(several[index], rest, value, whole)
            else:
                several[index] = value
        return
    declared = next((each for each in fields_of(class_of(target)) if each.name == head), None)
    if declared is None:
        raise Problem(
            "invalid_patch", f"{type(target).__name__} has no field {head!r}", value=whole
        )
    if rest:
        inner = getattr(target, head)
        if inner is not None:
            _set(inner, rest, value, whole)
    else:
        setattr(target, head, _value(declared, value, whole))


def message_from(key: ApiKey, version: int, fields: dict[str, Any]) -> Any:
    """An answer of an API with these fields; all others at their defaults. Raises Problem."""
    return _struct(response_class(key), fields, response_class(key).__name__)


def _struct(class_: type[Any], fields: dict[str, Any], where: str) -> Any:
    declared = {each.name: each for each in fields_of(class_)}
    for name in fields:
        if name not in declared:
            raise Problem("invalid_answer", f"{where} has no field {name!r}", value=name)
    return class_(
        **{name: _value(declared[name], value, f"{where}.{name}") for name, value in fields.items()}
    )


def _value(declared: Field, value: Any, where: str) -> Any:
    if value is None:
        return None
    if declared.shape is Shape.ARRAY:
        several = listed(value)
        if several is None:
            raise Problem("invalid_answer", f"{where} is a list", value=value)
        return [_one(declared.element, each, where) for each in several]
    return _one(declared.element, value, where)


def _one(element: FieldType[Any] | type[Any], value: Any, where: str) -> Any:
    if isinstance(element, type):
        return _struct(element, value, where)
    if element.name == "uuid" and isinstance(value, str):
        return UUID(value)
    if element.name in ("bytes", "records") and isinstance(value, str):
        import base64

        return base64.b64decode(value)
    if element.name == "string" and not isinstance(value, str):
        raise Problem("invalid_answer", f"{where} is a string", value=value)
    if element.name.startswith(("int", "uint")) and not isinstance(value, int):
        raise Problem("invalid_answer", f"{where} is a number", value=value)
    return value


def corrupted(answer: Any, what: str) -> None:
    """Damage the first batch of an answer to a Fetch; the log stays as it is."""
    for topic in getattr(answer, "responses", ()):
        for partition in getattr(topic, "partitions", ()):
            if getattr(partition, "records", None):
                partition.records = _damaged(bytearray(bytes_of(partition.records)), what)
                return


def bytes_of(records: Records) -> bytes:
    """The bytes of a chunk; a slice of a file is read, and closed."""
    if isinstance(records, FileSlice):
        with records as slice_:
            return slice_.read()
    return bytes(cast("bytes | memoryview", records))


def _damaged(data: bytearray, what: str) -> bytes:
    if len(data) < HEADER_BYTES:
        return bytes(data)
    if what == "crc":
        data[CRC_POSITION] ^= 0xFF
    elif what == "length":
        data[_LENGTH_POSITION + 3] ^= 0x01
    else:
        # The last byte of the first batch's last record, but for the count of its headers.
        end = 12 + int.from_bytes(data[_LENGTH_POSITION : _LENGTH_POSITION + 4])
        data[end - 2] ^= 0x01
        _mend_crc(data, end)
    return bytes(data)


def _mend_crc(data: bytearray, end: int) -> None:
    """A damaged value whose checksum is right: what a faulty producer would have written."""
    from kafkalite.wire.checksum import crc32c

    checksum = crc32c(bytes(data[ATTRIBUTES_POSITION:end]))
    data[CRC_POSITION : CRC_POSITION + 4] = checksum.to_bytes(4)


def as_another_producer(request: Any, places: frozenset[TopicPlace], topic_name: TopicName) -> Any:
    """A Produce of the same records as by a producer without an id: what an upstream retry
    leaves.

    Of all partitions, or of those that matched only.
    """

    def is_meant(topic: Any, index: int) -> bool:
        return not places or (shown_topic(topic_of(topic), topic_name), index) in places

    topics = [
        dataclasses.replace(
            topic,
            partition_data=[
                dataclasses.replace(partition, records=_without_producer(partition.records))
                for partition in topic.partition_data
                if partition.records is not None and is_meant(topic, partition.index)
            ],
        )
        for topic in request.topic_data
    ]
    return dataclasses.replace(request, transactional_id=None, topic_data=topics)


def _without_producer(batches: bytes | memoryview) -> bytes:
    records: list[Record] = []
    for batch in iterate_batches(batches):
        records += [each._replace(offset=0) for each in iterate_records(batch)]
    return build_batch(records)
