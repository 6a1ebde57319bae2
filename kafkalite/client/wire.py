"""HTTP of the control port, without any I/O: from a verb to bytes, from bytes to its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import h11
import msgspec

from kafkalite.client.table import ROWS, Row
from kafkalite.control.conversion import decoded
from kafkalite.control.problems import Problem

PREFIX: Final = "/v1"


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
        self._token = token
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
        if row.method in ("POST", "PUT"):
            return path, msgspec.json.encode(renamed)
        query = urlencode({str(name): _as_query(value) for name, value in renamed.items()})
        return (f"{path}?{query}" if query else path), b""

    def request(self) -> bytes:
        """The bytes to send."""
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        headers = [
            ("Host", f"{host}:{self._address.port}"),
            ("Authorization", f"Bearer {self._token}"),
            ("Connection", "close"),
            ("Content-Length", str(len(self._body))),
        ]
        if self._body:
            headers.append(("Content-Type", "application/json"))
        data = self._connection.send(
            h11.Request(method=self._row.method, target=self._path, headers=headers)
        )
        data = data or b""
        if self._body:
            data += self._connection.send(h11.Data(self._body)) or b""
        return data + (self._connection.send(h11.EndOfMessage()) or b"")

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
        """The verb's answer. Raises Problem."""
        data = bytes(self._data)
        if self._status == 200 and hasattr(self._row.answer, "content_type"):
            return self._row.answer(data)
        if self._status == 200:
            return decoded(data, self._row.answer)
        told = msgspec.json.decode(data)
        raise Problem(told["code"], told["detail"], value=told.get("value"), hint=told.get("hint"))


def _said(row: Row) -> set[str]:
    """The fields whose None is to be said, as it is not what they are by default."""
    if row.method not in ("POST", "PUT"):
        return set()
    return {
        each.name
        for each in msgspec.structs.fields(row.request)
        if each.default is not None and each.default is not msgspec.NODEFAULT
    }


def _as_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
