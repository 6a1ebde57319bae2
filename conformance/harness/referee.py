"""Apache Kafka's own message classes, in a Java process kept open (referees/Referee.java)."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path
from typing import Any, Self

from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java

SOURCE = Path(__file__).parent.parent / "referees" / "Referee.java"


class RefereeRefuses(Exception):
    """Kafka could not read the bytes; the message is its exception."""


class Referee:
    """Ask what Kafka makes of bytes. A context manager: the process ends with it."""

    def __init__(self) -> None:
        command = [str(find_java()), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx256m"]
        self.process = subprocess.Popen(
            [*command, "-cp", f"{kafka_jars()}/*", str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def ask(self, name: str, version: int, data: bytes) -> tuple[Any, bytes]:
        """What Kafka reads, as its JSON converter gives it, and the bytes that it writes again."""
        text, written = self._ask(name, version, data)
        return json.loads(text), written

    def rewrite(self, name: str, version: int, data: bytes, to_version: int) -> bytes:
        """What Kafka writes in one version of a message that it read in another."""
        return self._ask(f":rewrite {name} {to_version}", version, data)[1]

    def rows(self, what: str) -> list[list[str]]:
        """One of the lists `messages`, `apis`, `errors`."""
        text, _ = self._ask(f":{what}", 0, b"")
        return [line.split() for line in text.splitlines()]

    def new(self, name: str) -> str:
        """Kafka's text of a message, or a struct (`Message$Struct`), with all fields at their defaults."""
        return self._ask(f":new {name}", 0, b"")[0]

    def _ask(self, name: str, version: int, data: bytes) -> tuple[str, bytes]:
        assert self.process.stdin is not None
        encoded = name.encode()
        head = struct.pack(">H", len(encoded)) + encoded + struct.pack(">hi", version, len(data))
        self.process.stdin.write(head + data)
        self.process.stdin.flush()
        ok = self._read(1)[0]
        text = self._read_sized().decode()
        written = self._read_sized()
        if not ok:
            raise RefereeRefuses(text)
        return text, written

    def _read_sized(self) -> bytes:
        return self._read(int.from_bytes(self._read(4), "big"))

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise RuntimeError("the Java process is gone")
        return data
