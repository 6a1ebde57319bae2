"""The codec of one API in one version: reads its requests, and writes its responses.

Parsers and builders are made at the first use. Most frames are parsed in one go. Odd and huge ones
are parsed by a slower generator, which yields now and then, so that others have their turn.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cache
from struct import Struct
from typing import Any, Final, TypeVar

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import message_in, request_class, response_class
from kafkalite.wire.compile_build import BUILD_ODDITIES, Builder
from kafkalite.wire.compile_messages import MessageBuilderWriter, MessageParserWriter
from kafkalite.wire.compile_parse import Parser
from kafkalite.wire.compile_rows import RowBuilderWriter, RowParserWriter
from kafkalite.wire.compile_source import Mode
from kafkalite.wire.errors import (
    InvalidMessage,
    Malformed,
    ProtocolViolation,
    Unbuilt,
    too_many_elements,
)
from kafkalite.wire.fields import InMemory, Records, most_elements
from kafkalite.wire.headers import decode_header, response_header_version, unpack_header
from kafkalite.wire.message_codec import build_body
from kafkalite.wire.parse_support import (
    PARSE_ODDITIES,
    Odd,
    TooManyElements,
    counting,
    skip_tags_in_slices,
)
from kafkalite.wire.rows import SharedResponse, message_of_row

# Parts of a huge response that are joined to one chunk.
_PARTS_AT_ONCE: Final = 2048
_BYTES_AT_ONCE: Final = 1 << 20
# Larger frames are not worth explaining: it takes 50 microseconds for every element.
_MOST_BYTES_TO_EXPLAIN: Final = 65536

_LET_GO_AT_ONCE: Final = 512

T = TypeVar("T")

_pack_header_0: Final = Struct(">ii").pack
_pack_header_1: Final = Struct(">iix").pack


class ApiCodec:
    """Reads the requests of one API in one version, and writes its responses.

    Both are messages, or rows (rows.py).
    """

    __slots__ = (
        "_build",
        "_build_slowly",
        "_parse_bytes",
        "_parse_slowly",
        "_parse_view",
        "_response_has_tags",
        "api_key",
        "api_version",
        "flexible",
        "rows",
    )

    def __init__(self, api_key: int, api_version: int, *, rows: bool = False) -> None:
        """Raises KeyError for an unknown API or version."""
        message = message_in(api_key, api_version, request_class)
        if message is None:
            raise KeyError(api_key)
        self.api_key = ApiKey(api_key)
        self.api_version = api_version
        self.flexible = message.is_flexible(api_version)
        self.rows = rows
        # Made at the first use. Views are large frames; the slow parser is for odd and huge ones.
        self._parse_bytes: Parser | None = None
        self._parse_view: Parser | None = None
        self._parse_slowly: Parser | None = None
        self._build: Builder | None = None
        self._build_slowly: Builder | None = None
        self._response_has_tags = False

    def parse(self, frame: InMemory, client_id_size: int) -> tuple[str | None, Any]:
        """Client id and body of a request of this API and version.

        Records are views into the frame, all else is copied; in rows only those of large frames,
        which are views themselves. Raises ManyElements and Malformed, which for views is said of
        all that is odd: `parse_in_slices` reads what is not malformed.
        """
        end = len(frame)
        try:
            if client_id_size >= 0:
                position = 10 + client_id_size
                client_id = str(frame[10:position], "utf-8")
            else:
                position = 10
                client_id = None
            if self.flexible:
                if client_id_size < -1 or frame[position]:
                    raise Odd
                position += 1
            parse = self._parse_bytes if type(frame) is bytes else self._parse_view
            body = (parse or self._make_parser(frame))(frame, position, end)
        except PARSE_ODDITIES:
            pass  # not here: the exception would keep what was parsed so far
        else:
            return client_id, body
        if type(frame) is not bytes:
            raise self._malformed()
        return drained(self.parse_in_slices(frame))

    def _make_parser(self, frame: InMemory) -> Parser:
        if type(frame) is bytes:
            found = self._parse_bytes = self._compile(in_memoryview=False, mode=Mode.FAST)
        else:
            found = self._parse_view = self._compile(in_memoryview=True, mode=Mode.COUNTED)
        return found

    def _compile(self, *, in_memoryview: bool, mode: Mode) -> Parser:
        # Not whole, as Kafka passes over bytes after a request: librdkafka's Metadata request for
        # all topics ends in three too many.
        writer = (RowParserWriter if self.rows else MessageParserWriter)(
            self.api_version, flexible=self.flexible, in_memoryview=in_memoryview, mode=mode
        )
        return writer.compile(request_class(self.api_key), whole=False)

    def parse_in_slices(self, frame: InMemory) -> Generator[None, None, tuple[str | None, Any]]:
        """`parse` for any frame: yields after every few hundred elements."""
        view = memoryview(frame)
        slowly = self._parse_slowly
        if slowly is None:
            slowly = self._parse_slowly = self._compile(in_memoryview=True, mode=Mode.SLOW)
        try:
            client_id, position = yield from self._odd_header(view)
            steps: Generator[None, None, Any] = slowly(view, position, len(view))
            body = yield from steps
        except PARSE_ODDITIES as error:
            yield from _let_go(error)
        except TooManyElements as error:
            yield from _let_go(error)
            most = most_elements(len(view))
            raise too_many_elements(most, request_class(self.api_key).__name__) from None
        else:
            return client_id, body
        raise self._malformed()

    def _malformed(self) -> Malformed:
        return Malformed(f"{request_class(self.api_key).__name__} is malformed")

    def _odd_header(self, view: InMemory) -> Generator[None, None, tuple[str | None, int]]:
        """Client id, malformed text or not, and the position after the header with its tags."""
        size = unpack_header(view)[3]
        position = 10 + max(size, 0)
        if size < -1 or position > len(view):
            raise Odd
        client_id = str(view[10:position], "utf-8", "replace") if size >= 0 else None
        if self.flexible:
            count = int.from_bytes(view[position : position + 1], "big")
            steps = skip_tags_in_slices(view, count, position + 1, len(view), counting(len(view)))
            position = yield from steps
        return client_id, position

    def explain(self, frame: InMemory) -> ProtocolViolation:
        """The error of a malformed frame: its field, its byte and what is wrong there.

        This takes long: call it in a thread.
        """
        if len(frame) > _MOST_BYTES_TO_EXPLAIN:
            return self._malformed()
        from kafkalite.wire.reference import parse_declared

        frame = bytes(frame)
        try:
            _, position = decode_header(frame, flexible=self.flexible)
            parse_declared(
                request_class(self.api_key), self.api_version, frame, position, whole=False
            )
        except ProtocolViolation as error:
            return error
        return self._malformed()

    def build(self, correlation_id: int, response: object) -> list[Records]:
        """The chunks of a response; the first begins with the length of all of them.

        Records are chunks of their own, the very objects that were in the message. Raises
        Unbuilt.
        """
        if type(response) is SharedResponse:
            return self._build_shared(correlation_id, response)
        build = self._build
        if build is None:
            build = self._build = self._make_builder(in_slices=False)
        parts: list[bytes] = []
        chunks: list[Records] = []
        try:
            build(response, parts, chunks)
            last = b"".join(parts)
        except BUILD_ODDITIES:
            pass  # not here: the exception would keep what was built so far
        else:
            return self._framed(correlation_id, chunks, last)
        raise self._unbuilt()

    def build_in_slices(
        self, correlation_id: int, response: object
    ) -> Generator[None, None, list[Records]]:
        """`build` in slices: yields after every few hundred elements."""
        if type(response) is SharedResponse:
            response = response.row
        build = self._build_slowly
        if build is None:
            build = self._build_slowly = self._make_builder(in_slices=True)
        parts: list[bytes] = []
        chunks: list[Records] = []
        measured = size = 0
        try:
            for _ in build(response, parts, chunks):
                if len(parts) < measured:  # they are in a chunk, before records
                    measured = size = 0
                size += sum(map(len, parts[measured:]))
                measured = len(parts)
                if measured > _PARTS_AT_ONCE or size > _BYTES_AT_ONCE:
                    chunks.append(b"".join(parts))
                    parts.clear()
                    measured = size = 0
                yield
            last = b"".join(parts)
        except BUILD_ODDITIES:
            pass
        else:
            return self._framed(correlation_id, chunks, last)
        raise self._unbuilt()

    def _unbuilt(self) -> Unbuilt:
        return Unbuilt(f"{response_class(self.api_key).__name__} has an odd value")

    def build_declared(self, correlation_id: int, response: Any) -> list[Records]:
        """`build` for any response, by the reference codec. Raises InvalidMessage, which names the
        field.

        This takes long: call it in a thread.
        """
        if type(response) is SharedResponse:
            response = response.row
        if self.rows:
            response = message_of_row(response_class(self.api_key), response)
        return self._framed(correlation_id, build_body(response, self.api_version), b"")

    def _framed(self, correlation_id: int, chunks: list[Records], last: bytes) -> list[Records]:
        """The chunks with the length of all of them, and the header, before the first."""
        has_tags = self._response_has_tags
        pack = _pack_header_1 if has_tags else _pack_header_0
        if not chunks:
            return [pack(len(last) + 4 + has_tags, correlation_id) + last]
        if last:
            chunks.append(last)
        size = sum(map(len, chunks)) + 4 + has_tags
        first = chunks[0]
        assert isinstance(first, bytes)  # no response begins with records
        chunks[0] = pack(size, correlation_id) + first
        return chunks

    def _build_shared(self, correlation_id: int, response: SharedResponse) -> list[Records]:
        """`build` for a response without records; its body is built once and kept."""
        if response.body is None:
            (whole,) = self.build(correlation_id, response.row)
            assert isinstance(whole, bytes)
            response.body = whole[8:]
        return [_pack_header_0(len(response.body) + 4, correlation_id) + response.body]

    def _make_builder(self, *, in_slices: bool) -> Builder:
        message = message_in(self.api_key, self.api_version, response_class)
        if message is None:
            raise InvalidMessage(f"API {self.api_key} has no version {self.api_version} here")
        flexible = message.is_flexible(self.api_version)
        self._response_has_tags = response_header_version(self.api_key, flexible) == 1
        writer = (RowBuilderWriter if self.rows else MessageBuilderWriter)(
            self.api_version, flexible=flexible, in_slices=in_slices
        )
        return writer.compile(response_class(self.api_key))


@cache
def codec_of(api_key: int, api_version: int, *, rows: bool = False) -> ApiCodec:
    """The codec of an API in one version; raises KeyError for an unknown API or version."""
    return ApiCodec(api_key, api_version, rows=rows)


def drained(steps: Generator[object, None, T]) -> T:
    """Run a generator to its end, and return its value."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            value: T = done.value
            return value


def _let_go(error: BaseException) -> Generator[None, None, None]:
    """Free what was parsed before an error, little by little: it may be a million objects."""
    traceback = error.__traceback__
    while traceback is not None:
        frame: Any = traceback.tb_frame  # f_locals is not a dict from Python 3.13 on
        for value in list(frame.f_locals.values()):
            if isinstance(value, list):
                while value:
                    del value[-_LET_GO_AT_ONCE:]
                    yield
        traceback = traceback.tb_next
