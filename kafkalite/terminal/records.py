"""A record as JSON and as a line of text."""

from __future__ import annotations

import base64
from typing import Any, Final

from confluent_kafka import Message
from rich.text import Text

from kafkalite.client.safe_text import safe
from kafkalite.terminal.output import moment

_NO_VALUE: Final = "null"


def as_row(message: Message) -> dict[str, Any]:
    """A record for programs. `*_encoding` is "base64" for what is no UTF-8."""
    key, key_encoding = _decoded(message.key())
    value, value_encoding = _decoded(message.value())
    headers: list[dict[str, Any]] = []
    pairs: Any = message.headers() or ()
    for name, content in pairs:
        text, encoding = _decoded(content)
        headers.append({"name": name, "value": text, "value_encoding": encoding})
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "key": key,
        "value": value,
        "headers": headers,
        "key_encoding": key_encoding,
        "value_encoding": value_encoding,
    }


def as_text(row: dict[str, Any]) -> Text:
    """A record for people: time, partition, offset, key, value, headers."""
    shown = Text()
    shown.append(moment(max(row["timestamp"], 0)), "dim")
    shown.append(f"  {row['partition']}@{row['offset']}  ", "cyan")
    shown.append(_NO_VALUE if row["key"] is None else safe(row["key"]), "green")
    shown.append("  ")
    shown.append(_NO_VALUE if row["value"] is None else safe(row["value"]))
    for header in row["headers"]:
        value = _NO_VALUE if header["value"] is None else safe(header["value"])
        shown.append(f"  {safe(header['name'])}={value}", "magenta")
    return shown


def _decoded(content: bytes | str | None) -> tuple[str | None, str]:
    """Text for bytes, and how it stands for them."""
    if content is None or isinstance(content, str):
        return content, "utf-8"
    try:
        return content.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), "base64"
