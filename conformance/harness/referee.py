"""Apache Kafka's own message classes, in a Java process kept open (java_codec/Referee.java)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from conformance.harness.java_process import JavaProcess

SOURCE = Path(__file__).parent.parent / "java_codec" / "Referee.java"


class RefereeRefuses(Exception):
    """Kafka could not read the bytes; the message is its exception."""


class Referee(JavaProcess):
    """Ask what Kafka makes of bytes. A context manager: the process ends with it."""

    def __init__(self) -> None:
        super().__init__(SOURCE, "-Xshare:auto")

    def ask(self, name: str, version: int, data: bytes) -> tuple[Any, bytes]:
        """The message that Kafka reads, as its JSON converter gives it, and the bytes it writes
        again."""
        text, written = self._ask(name, version, data)
        return json.loads(text), written

    def rewrite(self, name: str, version: int, data: bytes, to_version: int) -> bytes:
        """The bytes Kafka writes in one version of a message that it read in another."""
        return self._ask(f":rewrite {name} {to_version}", version, data)[1]

    def refuse(
        self, key: int, version: int, request: bytes, code: int, message: str | None = None
    ) -> bytes | None:
        """The body of Kafka's answer that says an error to this request; None where it gives
        none. `message`: not the error's usual one.
        """
        told = "" if message is None else f" {message}"
        text, written = self._ask(f":refuse {key} {code}{told}", version, request)
        return written if text else None

    def jaas(self, line: str) -> tuple[str, dict[str, str]]:
        """The login module of a JAAS line, and its options."""
        module, *rest = self._ask(":jaas", 0, line.encode())[0].split("\0")
        return module, dict(zip(rest[::2], rest[1::2], strict=True))

    def principal(self, rules: str, name: str) -> str:
        """The user whom `ssl.principal.mapping.rules` make of a certificate's name."""
        return self._ask(f":principal {rules}", 0, name.encode())[0]

    def rows(self, what: str) -> list[list[str]]:
        """One of the lists `messages`, `apis`, `errors`."""
        text, _ = self._ask(f":{what}", 0, b"")
        return [line.split() for line in text.splitlines()]

    def new(self, name: str) -> str:
        """Kafka's text of a message, or a struct (`Message$Struct`), with all fields at their
        defaults."""
        return self._ask(f":new {name}", 0, b"")[0]

    def _ask(self, name: str, version: int, data: bytes) -> tuple[str, bytes]:
        encoded = name.encode()
        head = struct.pack(">H", len(encoded)) + encoded + struct.pack(">hi", version, len(data))
        self.write(head + data)
        ok = self.read(1)[0]
        text = self._read_sized().decode()
        written = self._read_sized()
        if not ok:
            raise RefereeRefuses(text)
        return text, written

    def _read_sized(self) -> bytes:
        return self.read(int.from_bytes(self.read(4), "big"))
