"""Protobuf by the text of its schema: places of messages, imports, and what does not fit."""

from __future__ import annotations

import pytest

from kafkalite.schemas.protobuf import decode, message_path
from kafkalite.schemas.registry import Schema

ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "parts/item.proto";
message First { string note = 1; }
message Order {
  int64 id = 1;
  Item first_item = 2;
  google.protobuf.Timestamp at = 3;
  message Line { string text = 1; }
}
"""
ITEM = 'syntax = "proto3"; package shop; message Item { string sku = 1; }'
SCHEMA = Schema(1, "PROTOBUF", ORDER, (("parts/item.proto", ITEM),))


@pytest.mark.parametrize(
    ("data", "path", "rest"),
    [
        (b"\0rest", [0], b"rest"),
        (b"\x02\x02", [1], b""),
        (b"\x04\x02\x00rest", [1, 0], b"rest"),
        (b"\x02\xc8\x01x", [100], b"x"),
    ],
)
def test_the_place_of_a_message(data: bytes, path: list[int], rest: bytes) -> None:
    assert message_path(data) == (path, rest)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x02", b"\x01", b"\xff\xff\xff\xff\xff\xff"])
def test_a_place_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="has no"):
        message_path(data)


def test_messages_of_a_file_with_imports() -> None:
    assert decode(SCHEMA, b"\0\x0a\x02hi") == ("shop.First", {"note": "hi"})
    order = b"\x02\x02" + b"\x08\x05" + b"\x12\x03\x0a\x01A" + b"\x1a\x02\x08\x01"
    told = {"id": "5", "first_item": {"sku": "A"}, "at": "1970-01-01T00:00:01Z"}
    assert decode(SCHEMA, order) == ("shop.Order", told)
    assert decode(SCHEMA, b"\x04\x02\x00\x0a\x01x") == ("shop.Order.Line", {"text": "x"})


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(ValueError, match=r"no message \[7\]"):
        decode(SCHEMA, b"\x02\x0e")
    with pytest.raises(ValueError, match=r"kafkalite_schema\.proto"):
        decode(Schema(2, "PROTOBUF", "no schema"), b"\0")
    with pytest.raises(ValueError, match=r"it imports '\.\./x\.proto'"):
        decode(Schema(3, "PROTOBUF", ORDER, (("../x.proto", ITEM),)), b"\0")
