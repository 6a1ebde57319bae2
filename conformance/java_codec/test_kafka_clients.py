"""Apache Kafka's own classes read what we write, field by field, and write the same bytes again.

That is done for every message in every version: what is missing on our side is found by comparing
with the list of all message classes in Kafka's jars.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.harness.messages import every_message, every_version, few, instances, name_of
from conformance.harness.referee import Referee, RefereeRefuses
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import FieldType
from kafkalite.wire.message_codec import build_body, join, parse_body
from kafkalite.wire.schema import Field, Kind, Shape, fields_of, message_of

# Between controllers, and of tiered storage: neither a client nor a broker meets them.
LEFT_OUT = {
    *("BeginQuorumEpoch", "ControllerRegistration", "EndQuorumEpoch", "UpdateRaftVoter", "Vote"),
    *("RemoteLogSegmentMetadata", "RemoteLogSegmentMetadataUpdate"),
    *("RemoteLogSegmentMetadataSnapshot", "RemotePartitionDeleteMetadata"),
}
HEADERS = {"RequestHeader", "ResponseHeader", "RequestHeaderData", "ResponseHeaderData"}

# Records that Kafka has as null until they are set, and could not send so.
NULL_UNSENDABLE = {
    "ShareFetchResponse$PartitionData": "records",
    "FetchSnapshotResponse$PartitionSnapshot": "unalignedrecords",
}
EMPTY_BUFFER = "java.nio.HeapByteBuffer[pos=0 lim=0 cap=0]"


@pytest.mark.parametrize("case", every_version(), ids=name_of)
@few
@given(data=st.data())
def test_kafka_reads_what_we_write(
    kafka: Referee, case: tuple[type[Any], int], data: st.DataObject
) -> None:
    class_, version = case
    tags = message_of(class_).is_flexible(version)
    value = data.draw(instances(class_, version, tags))
    encoded = join(build_body(value, version))
    seen, written = kafka.ask(class_.__name__, version, encoded)
    assert plain(seen) == as_json(value, version)
    assert written == encoded
    assert parse_body(class_, version, written) == value


def as_json(value: Any, version: int) -> dict[str, Any]:
    """The JSON that Kafka's converter makes of a struct, with names in lower case."""
    return {
        field.name.replace("_", ""): _field_as_json(field, getattr(value, field.name), version)
        for field in fields_of(type(value))
        if field.is_in(version)
        if field.tag is None or getattr(value, field.name) != field.make_default()
    }


def _field_as_json(field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(field.element, FieldType):
        if field.element.name == "records":
            return ""  # its converter shows none; the bytes written again must do
        return (
            [_plain_json(each) for each in value] if isinstance(value, list) else _plain_json(value)
        )
    if field.shape is Shape.ARRAY:
        return [as_json(each, version) for each in value]
    return as_json(value, version)


def _plain_json(value: Any) -> Any:
    if isinstance(value, UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def plain(seen: Any) -> Any:
    """Kafka's JSON with names in lower case."""
    if isinstance(seen, dict):
        return {name.lower(): plain(value) for name, value in seen.items()}
    return [plain(each) for each in seen] if isinstance(seen, list) else seen


@pytest.mark.parametrize("class_", list(every_message()), ids=lambda class_: class_.__name__)
def test_defaults(kafka: Referee, class_: type[Any]) -> None:
    """The fields of the message and its structs. Kafka's have more: those of versions that are
    gone."""
    assert_defaults(kafka, class_, class_.__name__)
    for struct in structs_in(class_):
        try:
            assert_defaults(kafka, struct, f"{class_.__name__}${struct.__name__}")
        except RefereeRefuses:  # renamed by us, as the response has one of that name
            name = struct.__name__.removesuffix("Request")
            assert_defaults(kafka, struct, f"{class_.__name__}${name}")


def assert_defaults(kafka: Referee, struct: type[Any], path: str) -> None:
    theirs = fields_in(kafka.new(path).replace(EMPTY_BUFFER, "[]"))
    ours = fields_in(as_text(struct()))
    unsendable = NULL_UNSENDABLE.get(path)
    if unsendable is not None:
        assert theirs.pop(unsendable) == "null"
        assert ours.pop(unsendable) == "[]"
    assert ours == {name: theirs[name] for name in ours}


def structs_in(class_: type[Any]) -> Iterator[type[Any]]:
    for field in fields_of(class_):
        if not isinstance(field.element, FieldType):
            yield field.element
            yield from structs_in(field.element)


def as_text(value: Any) -> str:
    """A struct as Kafka's toString gives it, but for the names being in lower case."""
    if isinstance(value, bool) or value is None:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, (list, bytes)):
        return "[]"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, UUID):
        return _plain_json(value)
    fields = (
        f"{field.name}={as_text(getattr(value, field.name))}" for field in fields_of(type(value))
    )
    return f"{type(value).__name__}({', '.join(fields)})"


def fields_in(text: str) -> dict[str, Any]:
    """Names and values of a struct's text, inner structs likewise."""
    found: dict[str, Any] = {}
    rest = text[text.index("(") + 1 : -1]
    while rest:
        name, _, rest = rest.partition("=")
        end = end_of_value(rest)
        value, rest = rest[:end], rest[end + 2 :]
        found[name.replace("_", "").lower()] = fields_in(value) if value.endswith(")") else value
    return found


def end_of_value(text: str) -> int:
    """The position of the first comma outside of brackets, or the end."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            return position
    return len(text)


def test_no_message_of_kafka_is_missing(kafka: Referee) -> None:
    theirs = {name for (name,) in kafka.rows("messages")} - HEADERS
    theirs = {name for name in theirs if not is_left_out(name)}
    assert theirs == {class_.__name__ for class_ in every_message()}


def is_left_out(name: str) -> bool:
    stem = name.removesuffix("Request").removesuffix("Response").removesuffix("Record")
    return stem in LEFT_OUT


def test_keys_versions_and_first_flexible_versions(kafka: Referee) -> None:
    left_out = {name.lower() for name in LEFT_OUT}
    theirs = {
        tuple(row) for row in kafka.rows("apis") if row[1].replace("_", "").lower() not in left_out
    }
    for kind in (Kind.REQUEST, Kind.RESPONSE):
        messages = [message_of(class_) for class_ in every_message()]
        ours = {
            (
                str(message.key),
                ApiKey(message.key).name,
                str(message.min_version),
                str(message.max_version),
                str(message.flexible_since),
            )
            for message in messages
            if message.kind is kind
        }
        assert ours == theirs


def test_error_codes(kafka: Referee) -> None:
    theirs = {
        (name, int(code), retriable == "true") for name, code, retriable in kafka.rows("errors")
    }
    assert {(code.name, code.value, code.retriable) for code in ErrorCode} == theirs
