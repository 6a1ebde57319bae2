"""UUIDs as Kafka writes them."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.wire.kafka_uuid import kafka_uuid


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
