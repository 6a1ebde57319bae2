"""UUIDs as Kafka writes them."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.wire.kafka_uuid import kafka_uuid, new_kafka_uuid, parse_kafka_uuid


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UUID(int=0), "AAAAAAAAAAAAAAAAAAAAAA"),
        (UUID(int=1), "AAAAAAAAAAAAAAAAAAAAAQ"),
        (UUID(int=(1 << 128) - 1), "_____________________w"),
        (UUID("fbf00000-0000-0000-0000-000000000000"), "-_AAAAAAAAAAAAAAAAAAAA"),
    ],
)
def test_it_is_written_in_22_characters(value: UUID, text: str) -> None:
    assert kafka_uuid(value) == text
    assert parse_kafka_uuid(text) == value


@pytest.mark.parametrize("text", ["", "AAAA"])
def test_a_text_of_another_length_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="16"):
        parse_kafka_uuid(text)


def test_a_new_one_does_not_look_like_a_flag() -> None:
    made = iter([UUID("fbf00000-0000-0000-0000-000000000000"), UUID(int=1)])
    assert new_kafka_uuid(lambda: next(made)) == "AAAAAAAAAAAAAAAAAAAAAQ"
