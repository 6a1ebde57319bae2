"""Records as they are in a log, whole and cut."""

from __future__ import annotations

import pytest

from kafkalite.control.answers import Header
from kafkalite.control.record_reading import found, records_of, size_of, view
from kafkalite.testing import broker as test_broker
from kafkalite.wire.record_batch import Record
from tests.kafkalite.transactional import TOPIC, Transactional

RECORD = Record(3, 5, b"\xff\xfe", "Łódź".encode(), [("h", b"x"), ("none", None)])


async def test_records_from_an_offset_on(broker: test_broker, writer: Transactional) -> None:
    for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
        await writer.write(value, commit=commit)
    partition = broker._partition(TOPIC, 0)
    assert [each.value for each in records_of(partition)] == [b"a", b"b", b"c"]
    (first, second) = records_of(partition, committed_only=True)
    assert (first.value, second.value) == (b"a", b"c")
    assert [each.value for each in records_of(partition, second.offset)] == [b"c"]
    assert list(records_of(partition, 1_000)) == []


def test_a_record_as_json_has_it() -> None:
    shown = view(2, RECORD)
    assert (shown.partition, shown.offset, shown.timestamp) == (2, 3, 5)
    assert (shown.key, shown.key_encoding) == ("//4=", "base64")
    assert (shown.value, shown.value_encoding) == ("Łódź", "utf-8")
    assert shown.headers == {"h": "x", "none": None}


def test_no_header_is_lost() -> None:
    pairs = [("h", b"x"), ("bytes", b"\xff"), ("none", None), ("h", b"y")]
    shown = view(0, RECORD._replace(headers=pairs))
    assert shown.headers == {"h": "y", "bytes": "/w==", "none": None}
    assert shown.all_headers == [
        Header("h", "x"),
        Header("bytes", "/w==", "base64"),
        Header("none", None),
        Header("h", "y"),
    ]
    assert found(0, RECORD._replace(headers=pairs), 0).all_headers[0] == Header("h", "")


@pytest.mark.parametrize(
    ("most", "value"), [(1, ""), (2, "Ł"), (3, "Łó"[:1]), (6, "Łód"), (7, "Łódź"), (None, "Łódź")]
)
def test_a_cut_goes_between_letters(most: int | None, value: str) -> None:
    shown = found(0, RECORD, most)
    assert (shown.value, shown.value_encoding) == (value, "utf-8")
    assert shown.size_bytes == size_of(RECORD) == 2 + 7 + 2 + 4


def test_a_letter_that_is_not_whole_at_the_end_of_a_value_is_no_text() -> None:
    assert found(0, RECORD._replace(value=b"a\xc5"), 10).value_encoding == "base64"
