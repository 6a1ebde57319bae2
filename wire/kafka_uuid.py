"""UUIDs as Kafka writes them in texts: 22 characters of URL-safe base64 (its class Uuid)."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from uuid import UUID


def kafka_uuid(value: UUID) -> str:
    """`AAAAAAAAAAAAAAAAAAAAAA` for zero."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_kafka_uuid(text: str) -> UUID:
    """The UUID in a text. Raises ValueError."""
    return UUID(bytes=urlsafe_b64decode(text + "=="))


def new_kafka_uuid(new_uuid: Callable[[], UUID]) -> str:
    """The text of a new UUID. It begins with no dash: Kafka's tools would take it for a flag."""
    while True:
        text = kafka_uuid(new_uuid())
        if not text.startswith("-"):
            return text
