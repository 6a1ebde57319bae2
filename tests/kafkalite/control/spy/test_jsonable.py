"""Messages and batches as JSON: fields of the version, text or base64, and what is wrong."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from kafkalite.control.spy.jsonable import batches_as_json, message_as_json, shown
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.messages.fetch import FetchRequest, FetchTopic
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.record_batch import Record, build_batch

RECORDS = [
    Record(timestamp=5, key=b"k", value=b"\xff\x00", headers=[("h", b"x"), ("n", None)]),
    Record(timestamp=6, key=None, value=None),
]


def test_fields_are_those_of_the_version() -> None:
    request = FetchRequest(topics=[FetchTopic(topic="t", topic_id=UUID(int=7))])
    (named,) = message_as_json(request, 12)["topics"]
    (numbered,) = message_as_json(request, 13)["topics"]
    assert named["topic"] == "t"
    assert "topic_id" not in named
    assert numbered["topic_id"] == str(UUID(int=7))
    assert "topic" not in numbered
    json.dumps(message_as_json(request, 13))


def test_bytes_are_text_where_they_can_be() -> None:
    protocols = [
        JoinGroupRequestProtocol(name="a", metadata=b"text"),
        JoinGroupRequestProtocol(name="b", metadata=b"\xff"),
    ]
    found = message_as_json(JoinGroupRequest(group_id="g", protocols=protocols), 5)
    assert [each["metadata"] for each in found["protocols"]] == ["text", {"base64": "/w=="}]
    assert shown(None) == (None, "utf-8")


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_a_batch_has_its_header_and_its_records(compression: str) -> None:
    from kafkalite.wire.compression import Compression

    codec = Compression[compression.upper()]
    data = build_batch(
        RECORDS, base_offset=10, producer_id=3, producer_epoch=1, base_sequence=0, compression=codec
    )
    (batch,) = batches_as_json(data)
    assert batch["base_offset"] == 10
    assert batch["producer_id"] == 3
    assert batch["compression"] == compression
    assert batch["crc_valid"]
    assert "problem" not in batch
    first, second = batch["records"]
    assert first["key"] == "k"
    assert (first["value"], first["value_encoding"]) == ("/wA=", "base64")
    assert first["headers"] == [{"key": "h", "value": "x"}, {"key": "n", "value": None}]
    assert (second["offset"], second["value"], second["timestamp"]) == (11, None, 6)


def test_a_marker_is_named() -> None:
    marker = build_end_transaction_marker(
        producer_id=1, producer_epoch=0, commit=False, coordinator_epoch=0, timestamp=1
    )
    (batch,) = batches_as_json(marker)
    assert batch["marker"] == "abort"
    assert batch["is_control"]


def problems(batches: list[dict[str, Any]]) -> list[str]:
    return [each["problem"] for each in batches if "problem" in each]


def test_a_batch_that_is_cut_short_is_said_to_be() -> None:
    whole, cut = build_batch(RECORDS), build_batch(RECORDS)[:-3]
    batches = batches_as_json(whole + cut)
    assert [each["position"] for each in batches] == [0, len(whole)]
    assert problems(batches) == [f"a batch of {len(whole)} bytes, and {len(cut)} are here"]
    assert "records" not in batches[1]


def test_bytes_that_are_no_batch_are_said_to_be() -> None:
    assert problems(batches_as_json(b"\x01garbage")) == ["8 bytes, where a batch begins with 61"]
    (found,) = batches_as_json(b"\x01" * 100)
    assert "problem" in found
    assert problems(batches_as_json(bytes(100))) == ["100 bytes were not kept"]


def test_a_wrong_checksum_and_wrong_records_are_shown() -> None:
    data = bytearray(build_batch(RECORDS))
    data[-1] ^= 0xFF
    (batch,) = batches_as_json(bytes(data))
    assert not batch["crc_valid"]
    torn = bytearray(build_batch(RECORDS))
    torn[61] = 0x7F
    (batch,) = batches_as_json(bytes(torn))
    assert "problem" in batch
    old = bytearray(build_batch(RECORDS))
    old[16] = 1
    assert problems(batches_as_json(bytes(old))) == ["magic 1, and not 2"]
