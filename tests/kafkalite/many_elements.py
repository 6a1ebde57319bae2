"""Requests with very many elements: of any API, in any of its lists."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.codec import encode_request
from kafkalite.wire.fields import FieldType
from kafkalite.wire.message_codec import join
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.schema import Field, Shape, fields_of

Path = tuple[str, ...]

FREQUENT: Final = (
    *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.OFFSET_COMMIT, ApiKey.ADD_PARTITIONS_TO_TXN),
)
# The older form of a request, where it is another one.
_OTHER_VERSIONS: Final = {
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.FETCH: 12,
}

TOPIC: Final = "t"
PARTITIONS: Final = 50
_NUMBERS: Final = {
    "resource_type": 2,
    "acks": 1,
    "session_epoch": -1,
    "max_bytes": 1_000_000,
    "partition_max_bytes": 1000,
    "response_partition_limit": 2000,
    "timeout_ms": 10_000,
    "replication_factor": 1,
    "num_partitions": 1,
    "timestamp": -1,
    "current_leader_epoch": -1,
    "leader_epoch": -1,
    "replica_id": -1,
    "member_epoch": -1,
}
_NAMES: Final = ("name", "topic", "topic_name", "resource_name")


def lists() -> list[tuple[ApiKey, int]]:
    """Each API that takes lists, with its newest version, and with an older form."""
    newest = [(api.key, api.max_version) for api in APIS.values() if api.key not in FREQUENT]
    found = [*newest, *_OTHER_VERSIONS.items()]
    return [each for each in found if any(paths(request_class(each[0]), each[1]))]


def has_bytes(class_: type[Any], version: int) -> bool:
    """True if a request has a field of bytes, other than records."""
    return any(
        field.element.name == "bytes"
        if isinstance(field.element, FieldType)
        else has_bytes(field.element, version)
        for field in fields_of(class_)
        if field.is_in(version) and field.tag is None
    )


def paths(class_: type[Any], version: int, before: Path = ()) -> Iterator[Path]:
    """The lists of a request, by the names of the fields that lead there."""
    for field in fields_of(class_):
        if field.shape is Shape.ARRAY and field.is_in(version) and field.tag is None:
            path = (*before, field.name)
            yield path
            if not isinstance(field.element, FieldType):
                yield from paths(field.element, version, path)


class Filling:
    """Makes requests of which one list is long, and every other has one element."""

    def __init__(
        self,
        version: int,
        count: int,
        topic_id: UUID,
        *,
        known: bool,
        text_bytes: int = 0,
        blob_bytes: int = 1,
    ) -> None:
        """`known`: the elements name, over and over, what is there, else each something new.

        Each text has so many more bytes, and what is neither text nor records has so many.
        """
        self._tail = "x" * text_bytes
        self._blob = b"x" * blob_bytes
        self._version = version
        self._count = count
        self._topic_id = topic_id
        self._known = known
        batch = build_batch([Record(value=b"x", timestamp=int(time.time() * 1000))])
        self._records = bytes(batch)

    def frame(self, api_key: int, path: Path) -> bytes:
        """The request as bytes, without its length."""
        body = self._struct(request_class(api_key), path, 0)
        return join(encode_request(api_key, self._version, 7, "many", body))[4:]

    def _struct(self, class_: type[Any], path: Path, number: int) -> Any:
        made = class_()
        for field in fields_of(class_):
            if field.is_in(self._version) and field.tag is None:
                value = self._field(field, path, number)
                if value is not None:
                    setattr(made, field.name, value)
        return made

    def _field(self, field: Field, path: Path, number: int) -> Any:
        if field.shape is Shape.ARRAY:
            is_on_path = path[:1] == (field.name,)
            rest = path[1:] if is_on_path else ()
            if is_on_path and not rest:
                # The known ones are the same again and again.
                distinct = min(self._count, PARTITIONS) if self._known else self._count
                made = [self._element(field, (), each) for each in range(distinct)]
                return (made * -(-self._count // distinct))[: self._count]
            return [self._element(field, rest, number)]
        is_kept_null = field.nullable_in(self._version) and field.name not in _NAMES
        is_records = isinstance(field.element, FieldType) and field.element.name == "records"
        return None if is_kept_null and not is_records else self._element(field, (), number)

    def _element(self, field: Field, path: Path, number: int) -> Any:
        if not isinstance(field.element, FieldType):
            return self._struct(field.element, path, number)
        name, type_ = field.name, field.element.name
        if type_ == "uuid":
            return self._topic_id if self._known else UUID(int=number + 1)
        if type_ == "string":
            return (TOPIC if self._known else f"new{number}") + self._tail
        if type_ in ("records", "bytes"):
            return self._records if type_ == "records" else self._blob
        if type_ == "bool":
            return False
        if "partition" in name or name == "index":
            return number % PARTITIONS if self._known else number
        return _NUMBERS.get(name, 0)
