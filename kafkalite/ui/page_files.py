"""Serves the files of the page, with headers that keep it from reaching any other place.

The names of the files are read once, so that a path can name one of them or none. The page has no
secrets: the token is asked for by the verbs that it calls.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import trio

from kafkalite.server.http import HttpRequest, HttpResponse

_INDEX: Final = "index.html"
_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_IMPORT_MAP: Final = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it is sent; `tag` changes with its bytes."""

    data: bytes
    content_type: str
    tag: str


class PageFiles:
    """The files below page/, each read when it is first asked for."""

    def __init__(self) -> None:
        self._there = _named(files("kafkalite.ui") / "page", "")
        self._read: dict[str, _File] = {}
        self._policy = ""

    async def answer(self, request: HttpRequest, path: str) -> HttpResponse | None:
        """The response to a GET of a file of the page; None if it has no such file."""
        name = path.removeprefix("/") or _INDEX
        if name not in self._there:
            return None
        if name not in self._read:
            self._read[name] = await trio.to_thread.run_sync(self._load, name)
        if not self._policy:
            index = await trio.to_thread.run_sync(self._load, _INDEX)
            self._policy = content_security_policy(index.data)
        file = self._read[name]
        headers = {
            "Cache-Control": "no-cache",
            "Content-Security-Policy": self._policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "ETag": file.tag,
            "Referrer-Policy": "no-referrer",
        }
        if file.tag in request.headers.get("if-none-match", ""):
            return HttpResponse(HTTPStatus.NOT_MODIFIED, b"", file.content_type, headers)
        return HttpResponse(HTTPStatus.OK, file.data, file.content_type, headers)

    def _load(self, name: str) -> _File:
        data = self._there[name].read_bytes()
        tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        return _File(data, _TYPES[name.rpartition(".")[2]], tag)


def _named(folder: Traversable, prefix: str) -> dict[str, Traversable]:
    """Every file below a folder that a browser may ask for, by its path."""
    found: dict[str, Traversable] = {}
    for each in folder.iterdir():
        if each.is_dir():
            found |= _named(each, f"{prefix}{each.name}/")
        elif each.name.rpartition(".")[2] in _TYPES:
            found[prefix + each.name] = each
    return found


def content_security_policy(index: bytes) -> str:
    """Nothing but the page's own files, and the one script that is written into index.html."""
    scripts = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
        for text in _IMPORT_MAP.findall(index)
    )
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
