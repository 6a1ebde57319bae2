"""UUIDs as Kafka writes them in texts: 22 characters of URL-safe base64 (its class Uuid)."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from uuid import UUID


def kafka_uuid(value: UUID) -> str:
    """`AAAAAAAAAAAAAAAAAAAAAA` for zero."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()
