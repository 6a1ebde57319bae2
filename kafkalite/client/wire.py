"""HTTP of the control port, without any I/O: from a verb to bytes, from bytes to its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from os import fstat
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import h11
import msgspec

from kafkalite.client.table import ROWS, Row
from kafkalite.control.conversion import decoded
from kafkalite.control.problems import Problem

PREFIX: Final = "/v1"
# The line of a server-sent event that has its message; the server writes no other with it.
_DATA: Final = b"data: "
# Printable, as a header has it; empty for verbs that ask for none.
_TOKEN: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_PIECE_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Address:
    """The place of a control port: `http://127.0.0.1:9644`."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Address:
        """From a URL. Raises ValueError."""
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None or parts.port is None:
            raise ValueError(f"{url!r} is not http://HOST:PORT")
        return cls(parts.hostname, parts.port)


class Exchange:
    """One request and its answer."""

    def __init__(
        self, address: Address, token: str, verb: str, cluster: str, fields: Mapping[str, Any]
    ) -> None:
        self._row = ROWS[verb]
        self._connection = h11.Connection(h11.CLIENT)
        self._address = address
        if not _TOKEN.fullmatch(token):
            raise Problem("invalid_token", "the token has characters that no token has")
        self._token = token
        self._file: Path | None = None
        if hasattr(self._row.request, "upload"):
            fields = dict(fields)
            self._file = Path(fields.pop("file"))
        self._path, self._body = self._asked(cluster, fields)
        self._status = 0
        self._data = bytearray()
        self.is_done = False

    def _asked(self, cluster: str, fields: Mapping[str, Any]) -> tuple[str, bytes]:
        row = self._row
        given = {"cluster": cluster, **fields} if "{cluster}" in row.path else dict(fields)
        builtins = msgspec.to_builtins(
            {
                name: value
                for name, value in given.items()
                if value is not None or name in _said(row)
            }
        )
        renamed = {row.names.get(name, name): value for name, value in builtins.items()}
        path = PREFIX + row.path
        for name in list(renamed):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(renamed.pop(name)), safe=""))
        if self._file is not None:
            return path, b""
        if row.method in ("POST", "PUT"):
            return path, msgspec.json.encode(renamed)
        query = urlencode({str(name): _as_query(value) for name, value in renamed.items()})
        return (f"{path}?{query}" if query else path), b""

    def sending(self) -> Iterator[bytes]:
        """The bytes to send; a file comes in pieces. Raises OSError."""
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        headers = [
            ("Host", f"{host}:{self._address.port}"),
            ("Connection", "close"),
        ]
        if self._token:
            headers.append(("Authorization", f"Bearer {self._token}"))
        with ExitStack() as stack:
            body: Iterable[bytes] = [self._body] if self._body else []
            size, content_type = len(self._body), "application/json"
            if self._file is not None:
                file = stack.enter_context(self._file.open("rb"))
                body, size = (
                    iter(lambda: file.read(_PIECE_BYTES), b""),
                    fstat(file.fileno()).st_size,
                )
                content_type = self._row.request.upload
            headers.append(("Content-Length", str(size)))
            if size:
                headers.append(("Content-Type", content_type))
            head = h11.Request(method=self._row.method, target=self._path, headers=headers)
            yield self._connection.send(head) or b""
            for piece in body:
                yield self._connection.send(h11.Data(piece)) or b""
            yield self._connection.send(h11.EndOfMessage()) or b""

    def receive(self, data: bytes) -> None:
        """Take in what was received; `is_done` says whether that was all."""
        self._connection.receive_data(data)
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._data += event.data
            elif isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
                self.is_done = True
                return

    def answer(self) -> Any:
        """The verb's answer. Raises Problem, and ConnectionError for another server's answer."""
        self.check()
        data = bytes(self._data)
        if hasattr(self._row.answer, "content_type"):
            return self._row.answer(data)
        try:
            return decoded(data, self._row.answer)
        except msgspec.DecodeError:
            raise self._no_control_port() from None

    def check(self) -> None:
        """Raises the Problem that was answered, if it was one, and ConnectionError for the answer
        of another server."""
        if self._status == 200:
            return
        try:
            told = msgspec.json.decode(bytes(self._data))
            code, detail = told["code"], told["detail"]
        except (msgspec.DecodeError, KeyError, TypeError):
            raise self._no_control_port() from None
        raise Problem(code, detail, value=told.get("value"), hint=told.get("hint"))

    def _no_control_port(self) -> ConnectionError:
        return ConnectionError(
            f"what answers at port {self._address.port} is no control port of kafkalite"
        )

    def messages(self) -> list[Any]:
        """The messages of a stream that have come since the last time."""
        if self._status != 200:
            return []
        *events, rest = bytes(self._data).split(b"\n\n")
        self._data = bytearray(rest)
        told = (line for event in events for line in event.split(b"\n"))
        return [
            decoded(line.removeprefix(_DATA), self._row.answer)
            for line in told
            if line.startswith(_DATA)
        ]


def _said(row: Row) -> set[str]:
    """The fields whose None is sent, as their default is another value."""
    if row.method not in ("POST", "PUT"):
        return set()
    return {
        each.name
        for each in msgspec.structs.fields(row.request)
        if each.default is not None and each.default is not msgspec.NODEFAULT
    }


def _as_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
