"""Keys, values and records of Kafka's logs, with their prefix: there and back, and broken."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from conformance.harness.messages import every_version, name_of
from conformance.harness.random_messages import broken, random_message
from kafkalite.wire.errors import InvalidMessage, ProtocolViolation
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.stored import (
    CONSUMER_OFFSETS,
    METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    decode,
    decode_front,
    decode_key,
    decode_metadata_record,
    encode,
    value_class_of,
)
from kafkalite.wire.messages.stored.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.schema import Kind, message_of
from tests.each import for_each

CASES = [
    case
    for case in every_version()
    if message_of(case[0]).kind not in (Kind.REQUEST, Kind.RESPONSE)
    and not case[0].__name__.endswith("Header")
]


def stored(random: Random, class_: type[Any], version: int) -> Any:
    value = random_message(random, class_, version)
    if message_of(class_).kind is Kind.VERSIONED:
        value.version = version
    return value


@for_each(CASES, name_of)
def test_there_and_back_and_broken(case: tuple[type[Any], int]) -> None:
    class_, version = case
    random = Random(version)
    for _ in range(20):
        value = stored(random, class_, version)
        encoded = encode(value, version)
        assert decode(class_, encoded) == value
        if message_of(class_).kind is Kind.METADATA_RECORD:
            assert decode_metadata_record(encoded) == value
        damaged = broken(random, encoded, encoded)
        with suppress(ProtocolViolation):
            decode(class_, damaged)
        with pytest.raises(ProtocolViolation):
            decode(class_, encoded[:1])


@pytest.mark.parametrize(
    "table", [CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE], ids=lambda table: len(table)
)
def test_keys_lead_to_their_values(table: dict[int, str]) -> None:
    random = Random(0)
    for record_type, module in table.items():
        found = importlib.import_module(f"kafkalite.wire.messages.stored.{module}")
        keys = [
            each
            for each in vars(found).values()
            if getattr(each, "__module__", "") == found.__name__
        ]
        [key_class] = [
            each
            for each in keys
            if each.__name__.endswith("Key") and hasattr(each, "__wire_message__")
        ]
        assert message_of(key_class).key == record_type
        key = random_message(random, key_class, 0)
        encoded = encode(key)
        assert encoded[:2] == record_type.to_bytes(2, "big")
        assert decode_key(encoded, table) == key
        value_class = value_class_of(key)
        assert value_class.__name__ == key_class.__name__.removesuffix("Key") + "Value"
        assert message_of(value_class).key == record_type


def test_tables_have_every_record_there_is() -> None:
    kinds: dict[Kind, set[type[Any]]] = {}
    for class_, _ in CASES:
        kinds.setdefault(message_of(class_).kind, set()).add(class_)
    tables = (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE)
    assert len(kinds[Kind.RECORD_KEY]) == sum(map(len, tables))
    assert {message_of(class_).key for class_ in kinds[Kind.METADATA_RECORD]} == set(METADATA)


def test_a_key_of_a_later_kafka() -> None:
    assert decode_key(b"\x7f\xff\0\0", CONSUMER_OFFSETS) is None


def test_by_hand() -> None:
    assert encode(GroupMetadataKey("g")) == bytes.fromhex("0002 0001 67")
    value = GroupMetadataValue("consumer", 3, None, None, -1, [])
    assert encode(value, 3)[:2] == b"\0\3"
    assert encode(TopicRecord("t")) == bytes.fromhex("01 02 00 02 74" + 16 * "00" + "00")


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        ("", "a frame of three varints"),
        ("01 02", "a frame of three varints"),
        ("01 ffffffffffff 00", "a frame of three varints"),
        ("00 02 00 0174", "unknown frame version 0"),
        ("01 63 00", "unknown record type 99"),
        ("01 02 09 0174", "unknown version 9"),
    ],
)
def test_metadata_records_that_are_none(encoded: str, reason: str) -> None:
    with pytest.raises(ProtocolViolation, match=reason):
        decode_metadata_record(bytes.fromhex(encoded))


def test_a_version_that_is_not_there() -> None:
    with pytest.raises(InvalidMessage):
        encode(GroupMetadataValue(), 9)
    with pytest.raises(ProtocolViolation):
        decode(GroupMetadataValue, b"\0\x09" + bytes(20))


def test_a_later_version_of_the_consumer_protocol_is_read_as_the_highest() -> None:
    subscription = ConsumerProtocolSubscription(["t"], rack_id="r")
    encoded = b"\0\x09" + encode(subscription, 3)[2:] + b"more"
    assert decode_front(ConsumerProtocolSubscription, encoded) == subscription
    with pytest.raises(ProtocolViolation):
        decode(ConsumerProtocolSubscription, encoded)


def test_a_broken_subscription_needs_no_reference_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    """To import it takes 50 ms, and clients do send such subscriptions: the loop would be held."""
    monkeypatch.setitem(sys.modules, "kafkalite.wire.reference", None)
    whole = encode(ConsumerProtocolSubscription(["t"]), 0)
    for broken_one in (b"", b"\0", whole[:-4], b"\0\1" + whole[2:], whole[:2] + b"\xff" * 4):
        with pytest.raises(ProtocolViolation):
            decode_front(ConsumerProtocolSubscription, broken_one)
    assert decode_front(ConsumerProtocolSubscription, b"\0\1" + whole[2:], 0).topics == ["t"]


def test_a_name_that_is_not_utf_8_is_read() -> None:
    whole = encode(ConsumerProtocolSubscription(["tt"]), 1).replace(b"tt", b"\xff\xfe")
    assert decode_front(ConsumerProtocolSubscription, whole).topics == ["\ufffd\ufffd"]
