"""Builders, generated from the declarations: the mirror image of compile_parse.py.

A builder appends the parts of an encoded message to a list. Fixed-size fields, and the length after
them, are packed together; records end a chunk and are passed on as they are. Values that do not
fit, or that the version would lose, and unknown tagged fields end in an exception, and the declared
construct takes over.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final, TypeAlias
from uuid import UUID

from kafkalite.wire.compile_parse import FEW, FORMATS, PLAIN_LENGTHS, STEP
from kafkalite.wire.fields import (
    MAX_STRING_BYTES,
    FieldType,
    Records,
    plain_nullable_string,
    unsigned_varint,
)
from kafkalite.wire.parse_support import Odd
from kafkalite.wire.schema import UNKNOWN, Field, Shape, fields_of

# What a generated builder may end in, given values that are not for it.
BUILD_ODDITIES: Final = (Odd, AttributeError, TypeError, ValueError, struct.error)

BYTES: Final = [bytes([value]) for value in range(128)]  # quicker than to pack one

Builder: TypeAlias = Callable[[Any, list[bytes], list[Records]], Any]


def string_length(length: int) -> bytes:
    if length > MAX_STRING_BYTES + 1:
        raise Odd
    return unsigned_varint(length)


class BuilderWriter:
    """Writes the source of one builder, and collects the names it uses."""

    def __init__(self, version: int, *, flexible: bool, in_slices: bool = False) -> None:
        """`in_slices`: the builder is a generator that yields now and then."""
        self.version = version
        self.flexible = flexible
        self.in_slices = in_slices
        self.in_function = False
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.indent = 1
        self.run: list[tuple[str, str]] = []
        self.names: dict[str, Any] = {
            "BYTES": BYTES,
            "Odd": Odd,
            "pack": pack,
            "string_length": string_length,
            "unsigned_varint": unsigned_varint,
        }

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def packing(self, run: list[tuple[str, str]]) -> str:
        """The expression that packs a run."""
        if all(format_ == "x" for format_, _ in run):
            return repr(bytes(len(run)))
        formats = "".join(format_ for format_, _ in run)
        name = "pack_" + formats.replace("?", "t")
        if name not in self.names:
            self.names[name] = Struct(">" + formats).pack
        return f"{name}({', '.join(value for format_, value in run if format_ != 'x')})"

    def use_few(self, format_: str) -> str:
        """A list of what packs 0, 1, 2... values."""
        name = "few_" + format_.replace("?", "t")
        if name not in self.names:
            self.names[name] = [Struct(f">{n}{format_}").pack for n in range(FEW)]
        return name

    def end_run(self) -> None:
        run, self.run = self.run, []
        if run:
            self.write(f"add({self.packing(run)})")

    def end_run_with_length(self, type_name: str, compact: bool) -> None:
        """Writes what has been gathered, and the length `n` after it (compact: already plus
        one)."""
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

    def value_of(self, field: Field, depth: int) -> str:
        """The expression of a field's value in the struct at a depth."""
        return f"o{depth}.{field.name}"

    def instance(self, class_: type[Any], depth: int) -> str:
        """What a struct is assigned to before `struct` writes it."""
        return f"o{depth}"

    def tagged(self, field: Field, value: str) -> None:
        """Adds a tag, the size of a field and the field to `tags`."""
        tag = unsigned_varint(field.tag or 0)
        if isinstance(field.element, FieldType) and field.shape is Shape.ONE:
            if field.element.name == "uuid":
                self.write(f"tags.append({tag + bytes([16])!r} + {value}.bytes)")
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
        exec(compile(source, f"<builder of {class_.__name__} {self.version}>", "exec"), self.names)  # noqa: S102  our own declarations
        build: Builder = self.names["build"]
        return build

    def differs(self, field: Field, value: str) -> str:
        """The expression that tells whether a field is not at its default."""
        return differs(field, value)

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

    def tags(self, class_: type[Any], tagged: list[Field], depth: int) -> None:
        """Writes the tag section."""
        value = f"o{depth}"
        if not tagged:
            self.write(f"if {value}.{UNKNOWN}:")
            self.write("    raise Odd")
            self.run.append(("x", ""))
            return
        self.end_run()
        conditions = [self.differs(field, self.value_of(field, depth)) for field in tagged]
        self.write(f"if {' or '.join([*conditions, f'{value}.{UNKNOWN}'])}:")
        self.write(f"    {self.tag_builder(class_, tagged)}({value}, add)")
        self.write("else:")
        self.write('    add(b"\\0")')

    def usual_struct(self, class_: type[Any], depth: int) -> None:
        """Writes the short form, if there is one, for an element in which nothing unusual
        stands."""

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
            self.run.append(("16s", f"{value}.bytes"))
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
        self.end_run_with_length("array", self.flexible)
        if isinstance(element, FieldType) and element.name in FORMATS and element.name != "uuid":
            format_ = FORMATS[element.name][0]
            several = self.use_few(format_)
            other = f'pack(f">{{len({items})}}{format_}", *{items})'
            self.write(
                f"add({several}[len({items})](*{items}) if len({items}) < {FEW} else {other})"
            )
            return
        if isinstance(element, FieldType):
            self.write(f"for item in {items}:")
            self.indent += 1
            self.plain(element, "item", False)
        else:
            self.write(f"for {self.instance(element, depth + 1)} in {items}:")
            self.indent += 1
            if self.in_slices and not self.in_function:
                self.write("count += 1")
                self.write(f"if not count & {STEP}:")
                self.write("    yield")
            self.usual_struct(element, depth + 1)
            self.struct(element, depth + 1)
        self.end_run()
        self.indent -= 1

    def tag_builder(self, class_: type[Any], tagged: list[Field]) -> str:
        """A function of its own for a tag section that has declared fields."""
        check = [f"if o0.{UNKNOWN}:", "    raise Odd"]
        return self.tag_function(class_, tagged, "o0, put", check)

    def tag_function(
        self, class_: type[Any], tagged: list[Field], parameters: str, begin: list[str]
    ) -> str:
        name = f"tags_of_{class_.__name__}"
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [f"def {name}({parameters}):"], 1
        self.in_function = True
        for line in begin:
            self.write(line)
        self.write("tags = []")
        for field in sorted(tagged, key=lambda field: field.tag or 0):
            value = self.value_of(field, 0)
            self.write(f"if {self.differs(field, value)}:")
            self.indent = 2
            self.tagged(field, value)
            self.indent = 1
        self.write("put(unsigned_varint(len(tags)))")
        self.write('put(b"".join(tags))')
        self.functions.append("\n".join(self.lines))
        self.lines, self.indent = lines, indent
        self.in_function = False
        return name


def differs(field: Field, value: str) -> str:
    """The expression that tells whether a field is not at its default."""
    default = field.default
    if isinstance(default, type):
        null = [] if field.nullable_since is None else [f"{value} is None"]
        inner = [differs(each, f"{value}.{each.name}") for each in fields_of(default)]
        return " or ".join([*null, *inner, f"{value}.{UNKNOWN}"])
    if default is None:
        return f"{value} is not None"
    if isinstance(default, UUID):
        return f"{value}.int"
    if default in ([], 0, "", b"") or default is False:
        return f"{value}" if field.nullable_since is None else f"{value} != {default!r}"
    return f"{value} != {default!r}"


def compile_builder(
    class_: type[Any], version: int, *, flexible: bool, in_slices: bool = False
) -> Builder:
    """A function that appends to (parts of the last chunk, chunks before it)."""
    return BuilderWriter(version, flexible=flexible, in_slices=in_slices).compile(class_)
