"""Builders, generated from the declarations: the mirror image of compile_parse.py.

A builder appends the parts of an encoded message to a list. Fixed-size fields, and the length after
them, are packed together; records end a chunk and are passed on as they are. Values that do not
fit, or that the version would lose, and unknown tagged fields end in one of BUILD_ODDITIES, and the
reference codec takes over.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final, TypeAlias
from uuid import UUID

from kafkalite.wire.compile_source import FEW, FORMATS, PLAIN_LENGTHS, STEP, SourceWriter
from kafkalite.wire.fields import (
    MAX_STRING_BYTES,
    FieldType,
    Records,
    plain_nullable_string,
    unsigned_varint,
)
from kafkalite.wire.parse_support import BYTES_OF_COUNTED, Odd
from kafkalite.wire.schema import Field, Shape, fields_of

# Exceptions of a generated builder for values that are not for it.
BUILD_ODDITIES: Final = (
    *(Odd, AttributeError, TypeError, ValueError, OverflowError, struct.error),
)

BYTES: Final = [bytes([value]) for value in range(128)]  # quicker than to pack one

Builder: TypeAlias = Callable[[Any, list[bytes], list[Records]], Any]


def string_length(length: int) -> bytes:
    if length > MAX_STRING_BYTES + 1:
        raise Odd
    return unsigned_varint(length)


class BuilderWriter(SourceWriter, ABC):
    """Writes the source of one builder; subclasses say how a struct is taken apart."""

    def __init__(self, version: int, *, flexible: bool, in_slices: bool = False) -> None:
        """`in_slices`: the builder is a generator that yields now and then."""
        names = {
            "BYTES": BYTES,
            "pack": pack,
            "string_length": string_length,
            "unsigned_varint": unsigned_varint,
        }
        super().__init__(version, flexible=flexible, names=names)
        self.in_slices = in_slices
        self.run: list[tuple[str, str]] = []

    @abstractmethod
    def value_of(self, field: Field, depth: int) -> str:
        """The expression of a field's value in the struct at a depth."""

    @abstractmethod
    def instance(self, class_: type[Any], depth: int) -> str:
        """The variables that a struct is assigned to before `struct` writes it."""

    @abstractmethod
    def tags(self, class_: type[Any], tagged: list[Field], depth: int) -> None:
        """Writes the tag section."""

    def packing(self, run: list[tuple[str, str]]) -> str:
        """The expression that packs a run."""
        if all(format_ == "x" for format_, _ in run):
            return repr(bytes(len(run)))
        formats = "".join(format_ for format_, _ in run)
        name = self.use_made("pack", formats, lambda: Struct(">" + formats).pack)
        return f"{name}({', '.join(value for format_, value in run if format_ != 'x')})"

    def use_few(self, before: str, format_: str) -> str:
        """A list of functions that pack what is before, and 0, 1, 2... values."""
        return self.use_made(
            "few",
            f"{before}_{format_}",
            lambda: [Struct(f">{before}{n}{format_}").pack for n in range(FEW)],
        )

    def end_run(self) -> None:
        run, self.run = self.run, []
        if run:
            self.write(f"add({self.packing(run)})")

    def end_run_with_length(self, type_name: str, compact: bool) -> None:
        """Writes the run, and the length `n` after it (compact: `n` is already plus one)."""
        if not compact:
            self.run.append((PLAIN_LENGTHS.get(type_name, ("i", 4))[0], "n"))
            self.end_run()
            return
        run, self.run = self.run, []
        short = self.packing([*run, ("B", "n")]) if run else "BYTES[n]"
        long = f"{'string_length' if type_name == 'string' else 'unsigned_varint'}(n)"
        if run:
            long = f"{self.packing(run)} + {long}"
        self.write(f"add({short} if n < 128 else {long})")

    def tagged(self, field: Field, value: str) -> None:
        """Adds a tag, the size of a field and the field to `tags`."""
        tag = unsigned_varint(field.tag or 0)
        if isinstance(field.element, FieldType) and field.shape is Shape.ONE:
            if field.element.name == "uuid":
                self.write(f"tags.append({tag + bytes([16])!r} + {value}.int.to_bytes(16))")
                return
            if field.element.name in FORMATS:
                format_, size = FORMATS[field.element.name]
                packed = self.packing([(format_, value)])
                self.write(f"tags.append({tag + bytes([size])!r} + {packed})")
                return
        self.write("parts = []")
        self.write("add = parts.append")
        self.field(field, value, 0)
        self.end_run()
        self.write('body = b"".join(parts)')
        self.write(f"tags.append({tag!r} + unsigned_varint(len(body)) + body)")

    def source(self, class_: type[Any]) -> str:
        """The source of a builder."""
        self.struct(class_, 0)
        self.end_run()
        head = [
            "def build(value, parts, chunks):",
            "    add = parts.append",
            f"    {self.instance(class_, 0)} = value",
        ]
        if self.in_slices:
            head += ["    count = 0", "    if count:", "        yield"]  # always a generator
        return "\n".join([*self.functions, *head, *self.lines, ""])

    def compile(self, class_: type[Any]) -> Builder:
        """A function that appends to (parts of the last chunk, chunks before it)."""
        source = self.source(class_)
        build: Builder = self.execute(
            source, "build", f"builder of {class_.__name__} {self.version}"
        )
        return build

    def differs(self, field: Field, value: str) -> str:
        """The expression that tells whether a field is not at its default."""
        default = field.default
        if default is None:
            return f"{value} is not None"
        if isinstance(default, UUID):
            return f"{value}.int"
        if not default:
            return f"{value}" if field.nullable_since is None else f"{value} != {default!r}"
        return f"{value} != {default!r}"

    def struct(self, class_: type[Any], depth: int) -> None:
        """Writes the struct that was assigned to `instance(class_, depth)`."""
        fields = fields_of(class_)
        present = [field for field in fields if field.is_in(self.version)]
        lost = [
            self.differs(field, self.value_of(field, depth))
            for field in fields
            if not field.is_in(self.version) and not field.ignorable
        ]
        if lost:
            self.write(f"if {' or '.join(lost)}:")
            self.write("    raise Odd")
        for field in present:
            if field.tag is None:
                self.field(field, self.value_of(field, depth), depth)
        if self.flexible:
            self.tags(class_, [field for field in present if field.tag is not None], depth)

    def usual_struct(self, class_: type[Any], depth: int) -> None:
        """Writes the short form for a usual element, if there is one."""

    def field(self, field: Field, value: str, depth: int) -> None:
        nullable = field.nullable_in(self.version)
        if field.shape is Shape.ARRAY:
            self.array(field.element, value, nullable, depth)
        elif isinstance(field.element, FieldType):
            self.plain(field.element, value, nullable)
        elif nullable:
            self.end_run()
            self.write(f"if {value} is None:")
            null = r"\xff" if field.tag is None else r"\0"
            self.write(f'    add(b"{null}")')
            self.write("else:")
            self.indent += 1
            self.write('add(b"\\1")')
            self.nested(field.element, value, depth)
            self.indent -= 1
        else:
            self.nested(field.element, value, depth)

    def nested(self, class_: type[Any], value: str, depth: int) -> None:
        self.write(f"{self.instance(class_, depth + 1)} = {value}")
        self.struct(class_, depth + 1)
        self.end_run()

    def plain(self, type_: FieldType[Any], value: str, nullable: bool) -> None:
        if type_.name == "uuid":
            # `bytes` of a UUID is a function of Python's.
            self.run.append(("16s", f"{value}.int.to_bytes(16)"))
        elif type_.name in FORMATS:
            self.run.append((FORMATS[type_.name][0], value))
        else:
            self.sized(type_, value, nullable)

    def sized(self, type_: FieldType[Any], value: str, nullable: bool) -> None:
        compact = self.flexible and type_ is not plain_nullable_string
        if nullable:
            before = self.run.copy()
            self.write(f"if {value} is None:")
            self.indent += 1
            self.run.append(self.null_length(type_.name, compact))
            self.end_run()
            self.indent -= 1
            self.run = before
            self.write("else:")
            self.indent += 1
        self.write(f"s = {value}{'.encode()' if type_.name == 'string' else ''}")
        self.write(f"n = len(s){' + 1' if compact else ''}")
        if self.gives_way and type_.name != "records":
            self.write(f"if n >= {BYTES_OF_COUNTED}:")
            self.write(f"    count += n // {BYTES_OF_COUNTED}")
        self.end_run_with_length(type_.name, compact)
        if type_.name == "records":
            self.write("if len(s):")
            self.write('    chunks.append(b"".join(parts))')
            self.write("    parts.clear()")
            self.write("    chunks.append(s)")
        else:
            self.write("add(s)")
        self.indent -= nullable

    def null_length(self, type_name: str, compact: bool) -> tuple[str, str]:
        """Format and value of a length that says null."""
        return ("x", "") if compact else (PLAIN_LENGTHS.get(type_name, ("i", 4))[0], "-1")

    def array(
        self, element: FieldType[Any] | type[Any], value: str, nullable: bool, depth: int
    ) -> None:
        one = " + 1" if self.flexible else ""
        items = f"l{depth}"
        self.write(f"{items} = {value}")
        if nullable:
            self.write(f"if {items} is None:")
            self.write(f"    n = {0 if self.flexible else -1}")
            self.write(f"    {items} = ()")
            self.write("else:")
            self.write(f"    n = len({items}){one}")
        else:
            self.write(f"n = len({items}){one}")
        if isinstance(element, FieldType) and element.name in FORMATS and element.name != "uuid":
            self.numbers(FORMATS[element.name][0], items)
            return
        self.end_run_with_length("array", self.flexible)
        if isinstance(element, FieldType):
            self.write(f"for item in {items}:")
            self.indent += 1
            self.give_way()
            self.plain(element, "item", False)
            self.end_run()
            self.indent -= 1
        else:
            self.structs(element, items, depth + 1)

    def structs(self, class_: type[Any], items: str, depth: int) -> None:
        """Writes a struct for each of the items."""
        self.write(f"for {self.element(class_, depth)} in {items}:")
        self.indent += 1
        self.give_way()
        self.begin_element(class_, depth)
        self.usual_struct(class_, depth)
        self.struct(class_, depth)
        self.end_run()
        self.end_element(class_, depth)
        self.indent -= 1

    @property
    def gives_way(self) -> bool:
        return self.in_slices and not self.in_function

    def give_way(self) -> None:
        """Writes the yield after so many elements, of which long texts count as several."""
        if self.gives_way:
            self.write("count += 1")
            self.write(f"if count > {STEP}:")
            self.write("    count = 0")
            self.write("    yield")

    def element(self, class_: type[Any], depth: int) -> str:
        """The variables that an element of a list is assigned to."""
        return self.instance(class_, depth)

    def begin_element(self, class_: type[Any], depth: int) -> None:
        """Writes what comes before an element that was assigned to `element(class_, depth)`."""

    def end_element(self, class_: type[Any], depth: int) -> None:
        """Writes what comes after it."""

    def numbers(self, format_: str, items: str) -> None:
        """Writes an array of numbers: the run, the length `n` and a few numbers by one pack."""
        run = self.run.copy()
        before = "".join(each for each, _ in run) + ("B" if self.flexible else "i")
        values = [value for each, value in run if each != "x"]
        several = self.use_few(before, format_)
        self.write(f"if len({items}) < {FEW}:")
        self.write(f"    add({several}[len({items})]({', '.join([*values, 'n', f'*{items}'])}))")
        self.write("else:")
        self.indent += 1
        self.end_run_with_length("array", self.flexible)
        self.write(f'add(pack(f">{{len({items})}}{format_}", *{items}))')
        self.indent -= 1

    def tag_function(
        self, class_: type[Any], tagged: list[Field], parameters: str, begin: list[str]
    ) -> str:
        name = f"tags_of_{class_.__name__}{self.number}"
        with self.own_function(f"def {name}({parameters}):"):
            self.write_all(begin)
            self.write("tags = []")
            for field in sorted(tagged, key=lambda field: field.tag or 0):
                value = self.value_of(field, 0)
                self.write(f"if {self.differs(field, value)}:")
                self.indent = 2
                self.tagged(field, value)
                self.indent = 1
            self.write("put(unsigned_varint(len(tags)))")
            self.write('put(b"".join(tags))')
        return name
