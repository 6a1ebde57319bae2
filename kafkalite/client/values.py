"""From what Python has to what verbs take."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from kafkalite.control.questions import NewRecord


def text_of(value: object) -> str:
    """A config's value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def fields_of(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a request, by their names in Python."""
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def new_record(
    value: str | bytes | None,
    key: str | bytes | None,
    partition: int,
    headers: Mapping[str, str],
    timestamp: int | str | None,
    count: int,
) -> NewRecord:
    """A record as the verb takes it; bytes go in base 64."""

    def shown(data: str | bytes | None) -> tuple[str | None, Literal["utf-8", "base64"]]:
        if isinstance(data, bytes):
            return base64.b64encode(data).decode(), "base64"
        return data, "utf-8"

    value_text, value_encoding = shown(value)
    key_text, key_encoding = shown(key)
    return NewRecord(
        value_text,
        key_text,
        partition,
        dict(headers),
        timestamp,
        key_encoding,
        value_encoding,
        count,
    )


def read_seed(path: Path) -> Mapping[str, Any]:
    """A seed file. Raises OSError."""
    text = path.read_text()
    if path.suffix == ".json":
        loaded: Mapping[str, Any] = json.loads(text)
        return loaded
    import yaml

    loaded = yaml.safe_load(text)
    return loaded


def written(path: Path, data: bytes) -> Path:
    """A file with these bytes. Raises OSError."""
    path.write_bytes(data)
    return path
