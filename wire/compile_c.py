"""Row parsers and builders as Cython source, for a build in machine code.

The writers are those of compile_rows.py, so each field, version and length is read and written in
the same order and by the same rules. Only what a single step costs differs: a number is read from
memory instead of by a `struct.Struct`, and is packed into bytes that are made for it. The build
compiles what `machine_code` returns for each of `APIS`, and compile_rows.py finds the functions
there. docs/compiled.md has what they gain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.compile_build import BuilderWriter
from kafkalite.wire.compile_rows import RowBuilderWriter, RowParserWriter, name_in_machine_code
from kafkalite.wire.compile_source import FEW, Mode
from kafkalite.wire.fields import FieldType
from kafkalite.wire.schema import message_of

APIS: Final = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.HEARTBEAT,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.SYNC_GROUP,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)

# Formats of `struct`: type of C and size.
_TYPES: Final = {
    "?": ("bint", 1),
    "b": ("int8_t", 1),
    "B": ("uint8_t", 1),
    "h": ("int16_t", 2),
    "H": ("uint16_t", 2),
    "i": ("int32_t", 4),
    "I": ("uint32_t", 4),
    "q": ("int64_t", 8),
    "d": ("double", 8),
    "16s": ("bytes", 16),
}
_FORMAT: Final = re.compile(r"16s|.")

# Stands for the number of a function, so that equal functions are seen to be equal.
_NUMBER: Final = "@"

_READ_AND_PUT: Final = "".join(
    f"""
    static inline {type_} read_{format_}(const unsigned char *from) {{
        uint{8 * size}_t bits; {type_} value;
        memcpy(&bits, from, {size}); bits = swapped_{size}(bits); memcpy(&value, &bits, {size});
        return value;
    }}
    static inline void put_{format_}(char *to, {type_} value) {{
        uint{8 * size}_t bits;
        memcpy(&bits, &value, {size}); bits = swapped_{size}(bits); memcpy(to, &bits, {size});
    }}"""
    for format_, (type_, size) in _TYPES.items()
    if format_ not in ("?", "16s")
)
_DECLARED: Final = "".join(
    f"""
    {type_} read_{format_}(const unsigned char *source)
    void put_{format_}(char *to, {type_} value)"""
    for format_, (type_, _) in _TYPES.items()
    if format_ not in ("?", "16s")
)

_HEAD: Final = f'''# cython: language_level=3, wraparound=False
from itertools import starmap
from struct import Struct, pack, unpack_from

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kafkalite.wire.compile_build import BYTES, string_length
from kafkalite.wire.fields import NO_UUID, unsigned_varint
from kafkalite.wire.parse_support import (
    NO_ELEMENTS as NONE, Odd, counting_few as counting, long_string, long_varint, skip_tags,
    tag_count, uuid_of, varint,
)
from kafkalite.wire.schema import KeptRow

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    #define swapped_2(bits) __builtin_bswap16(bits)
    #define swapped_4(bits) __builtin_bswap32(bits)
    #define swapped_8(bits) __builtin_bswap64(bits)
    #else
    #define swapped_2(bits) (bits)
    #define swapped_4(bits) (bits)
    #define swapped_8(bits) (bits)
    #endif
    #define swapped_1(bits) (bits)
    static inline const unsigned char *start_of_view(PyObject *view) {{
        Py_buffer *buffer = PyMemoryView_Check(view) ? PyMemoryView_GET_BUFFER(view) : NULL;
        if (!buffer || buffer->itemsize != 1 || !PyBuffer_IsContiguous(buffer, 'C')) {{
            PyErr_SetString(PyExc_TypeError, "this parser takes views of bytes");
            return NULL;
        }}
        return buffer->buf;
    }}{_READ_AND_PUT}
    """
    const unsigned char *start_of_view(PyObject *view) except? NULL{_DECLARED}

cdef inline int at(const unsigned char *data, Py_ssize_t pos, Py_ssize_t limit) except -1:
    if pos >= limit:
        raise Odd
    return data[pos]

cdef inline Py_ssize_t room(Py_ssize_t pos, Py_ssize_t size, Py_ssize_t limit):
    """The bytes of a slice: it may end early."""
    return max(min(size, limit - pos), 0)

cdef str text(const unsigned char *data, Py_ssize_t pos, Py_ssize_t size, Py_ssize_t limit):
    return PyUnicode_DecodeUTF8(<const char *>data + pos, room(pos, size, limit), NULL)

cdef bytes part(const unsigned char *data, Py_ssize_t pos, Py_ssize_t size, Py_ssize_t limit):
    return PyBytes_FromStringAndSize(<const char *>data + pos, room(pos, size, limit))

cdef bytes utf8(text):
    return PyUnicode_AsUTF8String(text)
'''

_IN_BYTES: Final = """\
    cdef const unsigned char *data = <const unsigned char *>PyBytes_AS_STRING(buf)"""
_IN_VIEW: Final = """\
    cdef const unsigned char *data = start_of_view(<PyObject *>buf)"""
_VARIABLES: Final = """\
    cdef Py_ssize_t n = 0, stop = 0, limit = len(buf)
    cdef list l0, l1, l2, l3"""


class Definitions:
    """The lines of all that the functions of a module use, by its name."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}

    def add(self, name: str, source: str) -> str:
        """The name, which is that of this source."""
        if self._sources.setdefault(name, source) != source:
            raise ValueError(f"{name} has two meanings")
        return name

    def __str__(self) -> str:
        return "\n".join(self._sources.values())


class CParserWriter(RowParserWriter):
    """Writes a parser whose buffer is memory, and whose positions are C's."""

    times = "range(n)"
    number = _NUMBER

    def __init__(
        self, version: int, *, flexible: bool, in_memoryview: bool, definitions: Definitions
    ) -> None:
        mode = Mode.COUNTED if in_memoryview else Mode.FAST
        super().__init__(version, flexible=flexible, in_memoryview=in_memoryview, mode=mode)
        self._definitions = definitions

    def write(self, line: str) -> None:
        super().write(line.replace("buf[pos]", "at(data, pos, limit)"))

    def unpack(self, run: list[tuple[str, int, str]]) -> None:
        self.write(f"if pos + {sum(size for _, size, _ in run)} > limit:")
        self.write("    raise Odd")
        place = 0
        for format_, size, target in run:
            if format_ == "16s":
                value = f"part(data, pos + {place}, 16, limit)"
            elif format_ == "?":
                value = f"data[pos + {place}] != 0"
            else:
                value = f"read_{format_}(data + pos + {place})"
            self.write(f"{target} = {value}")
            place += size

    def use_few(self, format_: str) -> str:
        made = f'[Struct(f">{{n}}{format_}").unpack_from for n in range({FEW})]'
        return self._definitions.add(f"few_{format_}", f"few_{format_} = {made}")

    def rows_at_once(self, class_: type[Any], target: str) -> bool:
        return False

    def cut(self, type_: FieldType[Any], target: str, size: str) -> None:
        if type_.name == "records" and not self.copies_records:
            self.uses_view = True
            self.write(f"{target} = view[pos : pos + {size}]")
        else:
            read = "part" if type_.name in ("bytes", "records") else "text"
            self.write(f"{target} = {read}(data, pos, {size}, limit)")
        self.write(f"pos += {size}")

    @contextmanager
    def own_function(self, head: str) -> Generator[None, None, None]:
        with super().own_function(self._typed(head)):
            yield

    def _typed(self, head: str) -> str:
        buffer = "buf" if self.in_memoryview else "bytes buf not None"
        head = head.replace("buf, ", f"{buffer}, ").replace("pos, end", "Py_ssize_t pos, end")
        head = head.replace(", end", ", Py_ssize_t end")
        start = _IN_VIEW if self.in_memoryview else _IN_BYTES
        return f"{head}\n{_VARIABLES}\n{start}"

    def source(self, class_: type[Any], *, whole: bool) -> str:
        head = "def parse(buf, pos, end):"
        source = super().source(class_, whole=whole)
        return source.replace(head, self._typed(head).replace("parse", f"parse{_NUMBER}"))


class CBuilderWriter(RowBuilderWriter):
    """Writes a builder that packs numbers by functions of C."""

    number = _NUMBER

    def __init__(self, version: int, *, flexible: bool, definitions: Definitions) -> None:
        super().__init__(version, flexible=flexible)
        self._definitions = definitions

    def write(self, line: str) -> None:
        line = re.sub(r"^s = (.*)\.encode\(\)$", r"s = utf8(\1)", line)
        if line != "add = parts.append":
            line = re.sub(r"\badd\(", "parts.append(", line.replace("(add, ", "(parts.append, "))
            super().write(line)

    def use_made(self, kind: str, format_: str, make: Callable[[], Any]) -> str:
        if kind != "pack":
            raise ValueError(kind)
        name = f"pack_{format_.replace('?', 't')}"
        parameters: list[str] = []
        lines: list[str] = []
        place = 0
        for each in _FORMAT.findall(format_):
            if each == "x":
                lines.append(f"to[{place}] = 0")
                place += 1
                continue
            type_, size = _TYPES[each]
            value = f"value_{len(parameters)}"
            parameters.append(f"{type_} {value}")
            if each == "16s":
                lines.append(f"memcpy(to + {place}, PyBytes_AS_STRING({value}), len({value}))")
            elif each == "?":
                lines.append(f"to[{place}] = {value}")
            else:
                lines.append(f"put_{each}(to + {place}, {value})")
            place += size
        lines.insert(0, f"cdef bytes made = PyBytes_FromStringAndSize(NULL, {place})")
        lines.insert(1, "cdef char *to = PyBytes_AS_STRING(made)")
        lines.append("return made")
        head = f"cdef bytes {name}({', '.join(parameters)}):"
        return self._definitions.add(name, "\n    ".join([head, *lines]))

    def use_few(self, before: str, format_: str) -> str:
        name = f"few_{before}_{format_}"
        made = f'[Struct(f">{before}{{n}}{format_}").pack for n in range({FEW})]'
        return self._definitions.add(name, f"{name} = {made}")

    def structs(self, class_: type[Any], items: str, depth: int) -> None:
        BuilderWriter.structs(self, class_, items, depth)

    def source(self, class_: type[Any]) -> str:
        head = "def build(value, parts, chunks):\n    add = parts.append\n"
        typed = f"def build{_NUMBER}(tuple value not None, list parts not None, list chunks):\n"
        return super().source(class_).replace(head, f"{typed}    cdef Py_ssize_t n = 0\n")


def machine_code(api: ApiKey) -> str:
    """The source of a module with the parsers of an API's requests, and builders of responses."""
    definitions = Definitions()
    numbers: dict[str, int] = {}
    names: list[str] = []
    request, response = request_class(api), response_class(api)

    def add(kind: str, class_: type[Any], version: int, source: str) -> None:
        function = "build" if kind == "build" else "parse"
        number = numbers.setdefault(source, len(numbers))
        names.append(f"{name_in_machine_code(kind, class_, version)} = {function}{number}")

    for version in _versions(request):
        flexible = message_of(request).is_flexible(version)
        for in_view in (False, True):
            parser = CParserWriter(
                version, flexible=flexible, in_memoryview=in_view, definitions=definitions
            )
            kind = "parse_view" if in_view else "parse_bytes"
            add(kind, request, version, parser.source(request, whole=False))
    for version in _versions(response):
        flexible = message_of(response).is_flexible(version)
        builder = CBuilderWriter(version, flexible=flexible, definitions=definitions)
        add("build", response, version, builder.source(response))
    functions = [source.replace(_NUMBER, str(number)) for source, number in numbers.items()]
    return "\n\n".join([_HEAD, str(definitions), *functions, "\n".join(names), ""])


def _versions(class_: type[Any]) -> range:
    message = message_of(class_)
    return range(message.min_version, message.max_version + 1)
