"""Parsers and builders of rows, generated from the declarations.

A row is a struct as a tuple: the values of all declared fields, in the order of the declaration. It
has the same shape in every version: a field that the version does not have is at its default.
Arrays are lists of rows or of plain values. Heartbeat 4, read:

    def parse(buf, pos, end):
        ...
        group_id0 = buf[pos : (pos := pos + n - 1)].decode()
        ...
        return (group_id0, generation_id0, member_id0, group_instance_id0)

No object is made of a struct but the tuple, and none of its fields is looked up by name. Unknown
tagged fields are passed over.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import starmap
from struct import Struct
from types import ModuleType
from typing import Any, Final, cast
from uuid import UUID

from kafkalite.wire.compile_build import Builder, BuilderWriter
from kafkalite.wire.compile_parse import Parser, ParserWriter
from kafkalite.wire.compile_source import FEW, FORMATS, Mode, format_of_numbers
from kafkalite.wire.fields import NO_UUID, FieldType, plain_nullable_string
from kafkalite.wire.rows import default_row, default_value
from kafkalite.wire.schema import Field, KeptRow, Kind, Shape, fields_of, has_kept_rows, message_of

# The parsers that compile_c.py writes: for views or not, whole or not, in which mode.
_IN_MACHINE_CODE: Final = {
    (False, False, Mode.FAST): "parse_bytes",
    (True, False, Mode.COUNTED): "parse_view",
}


def _expression(value: object) -> str:
    """A default as Python source; a UUID's is `NO_UUID`."""
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return f"({' '.join(f'{_expression(each)},' for each in items)})"
    return "NO_UUID" if isinstance(value, UUID) else repr(value)


class RowParserWriter(ParserWriter):
    """Writes a parser whose structs are tuples of local variables."""

    def __init__(self, version: int, *, flexible: bool, in_memoryview: bool, mode: Mode) -> None:
        super().__init__(version, flexible=flexible, in_memoryview=in_memoryview, mode=mode)
        # Frames that are bytes are small: to copy their records costs less than to make views.
        self.copies_records = not in_memoryview
        self.names["NO_UUID"] = NO_UUID

    def target(self, field: Field, depth: int) -> str:
        return f"{field.name}{depth}"

    def struct(self, class_: type[Any], depth: int) -> str:
        values: list[str] = []
        tagged: list[Field] = []
        for field in fields_of(class_):
            if not field.is_in(self.version):
                values.append(_expression(default_value(field)))
                continue
            values.append(self.target(field, depth))
            if field.tag is None:
                self.field(field, values[-1], depth)
            else:
                tagged.append(field)
        if self.flexible:
            self.row_tags(class_, tagged, depth)
        return f"({' '.join(f'{value},' for value in values)})"

    def rows_at_once(self, class_: type[Any], target: str) -> bool:
        """Structs of numbers: rows as `iter_unpack` makes them, where none has tagged fields."""
        format_ = format_of_numbers(class_, self.version)
        if format_ is None or self.mode is Mode.SLOW:
            return False
        fields = fields_of(class_)
        read = [each for each in fields if each.is_in(self.version) and each.tag is None]
        padded = f"{format_}x" if self.flexible else format_
        size = Struct(f">{padded}").size
        rows = self.use_made("rows", padded, lambda: Struct(f">{padded}").iter_unpack)
        rows = f"{rows}(buf[pos:stop])"
        if len(read) == len(fields):
            made = f"list({rows})"
        else:
            names = [e.name if e in read else _expression(default_value(e)) for e in fields]
            made = f"[({', '.join(names)}) for {''.join(f'{e.name}, ' for e in read)}in {rows}]"
        tags = f"buf[pos + {size - 1}:stop:{size}]"
        tags = f"bytes({tags})" if self.in_memoryview else tags
        self.write(f"stop = pos + n * {size}")
        self.write(f"if n >= {FEW}{f' and {tags}.count(0) == n' if self.flexible else ''}:")
        self.write(f"    {target} = {made}")
        self.write("    pos = stop")
        self.write("else:")
        self.indent += 1
        return True

    def row_tags(self, class_: type[Any], tagged: list[Field], depth: int) -> None:
        """A tag section: its declared fields as local variables."""
        targets = "".join(f", {self.target(field, depth)}" for field in tagged)

        def tags(count_and_pos: str) -> None:
            function = self.tag_parser(class_) if tagged else "skip_tags"
            self.write(
                f"    pos{targets} = {self.call_tags(function, f'buf, {count_and_pos}, end')}"
            )

        for field in tagged:
            self.write(f"{self.target(field, depth)} = {_expression(default_value(field))}")
        self.tag_section(tags, None)

    def compile(self, class_: type[Any], *, whole: bool = True) -> Parser:
        kind = _IN_MACHINE_CODE.get((self.in_memoryview, whole, self.mode))
        found = kind and in_machine_code(kind, class_, self.version)
        return found or super().compile(class_, whole=whole)

    def tag_parser(self, class_: type[Any]) -> str:
        tagged = [
            field
            for field in fields_of(class_)
            if field.tag is not None and field.is_in(self.version)
        ]
        targets = [self.target(field, 0) for field in tagged]
        defaults = [_expression(default_value(field)) for field in tagged]
        return self.tag_function(
            class_,
            "",
            begin=[f"{target} = {value}" for target, value in zip(targets, defaults, strict=True)],
            unknown=[],
            end=[f"return pos, {', '.join(targets)}"],
        )


class RowBuilderWriter(BuilderWriter):
    """Writes a builder that takes tuples apart into local variables."""

    def value_of(self, field: Field, depth: int) -> str:
        return f"{field.name}{depth}"

    def instance(self, class_: type[Any], depth: int) -> str:
        return "".join(f"{self.value_of(field, depth)}, " for field in fields_of(class_)).strip()

    def element(self, class_: type[Any], depth: int) -> str:
        return f"row{depth}" if has_kept_rows(class_) else super().element(class_, depth)

    def structs(self, class_: type[Any], items: str, depth: int) -> None:
        """Structs of numbers without anything else by one call."""
        format_ = format_of_numbers(class_, self.version)
        is_all = all(each.is_in(self.version) and each.tag is None for each in fields_of(class_))
        if format_ is None or not is_all or self.in_slices or has_kept_rows(class_):
            super().structs(class_, items, depth)
            return
        padded = f"{format_}x" if self.flexible else format_
        pack = self.use_made("pack", padded, lambda: Struct(f">{padded}").pack)
        self.names["starmap"] = starmap
        self.write(f'add(b"".join(starmap({pack}, {items})))')

    def begin_element(self, class_: type[Any], depth: int) -> None:
        """A kept row adds its bytes. The first time they are the parts that follow, unless these
        are joined to a chunk meanwhile."""
        if not has_kept_rows(class_):
            return
        self.names["KeptRow"] = KeptRow
        self.write(f"if row{depth}.__class__ is KeptRow and row{depth}.encoded is not None:")
        self.write(f"    add(row{depth}.encoded)")
        self.write("    continue")
        self.write(f"begin{depth} = len(parts)")
        self.write(f"before{depth} = len(chunks)")
        self.write(f"{self.instance(class_, depth)} = row{depth}")

    def end_element(self, class_: type[Any], depth: int) -> None:
        if has_kept_rows(class_):
            self.write(f"if row{depth}.__class__ is KeptRow and len(chunks) == before{depth}:")
            self.write(f'    row{depth}.encoded = b"".join(parts[begin{depth}:])')

    def differs(self, field: Field, value: str) -> str:
        default = field.default
        if isinstance(default, type):
            return f"{value} != {_expression(default_row(default))}"
        if isinstance(default, list):
            return value if field.nullable_since is None else f"({value} is None or {value})"
        return super().differs(field, value)

    def usual_struct(self, class_: type[Any], depth: int) -> None:
        """One pack for a struct with null and empty texts, empty arrays, and tagged fields at
        their defaults.

        Such is a partition without an error. Only for structs without other fields of variable
        size.
        """
        unusual: list[str] = []
        has_text = False
        run: list[tuple[str, str]] = []
        for field in fields_of(class_):
            value = self.value_of(field, depth)
            if not field.is_in(self.version) or field.tag is not None:
                if field.is_in(self.version) or not field.ignorable:
                    unusual.append(self.differs(field, value))
                continue
            nullable = field.nullable_in(self.version)
            element = field.element
            if field.shape is Shape.ARRAY:
                if nullable or isinstance(element, FieldType):
                    return
                unusual.append(value)
                run.append(("B", "1") if self.flexible else ("i", "0"))
            elif not isinstance(element, FieldType):
                return
            elif element.name == "uuid":
                run.append(("16s", f"{value}.int.to_bytes(16)"))
            elif element.name in FORMATS:
                run.append((FORMATS[element.name][0], value))
            elif nullable and element.name == "string":
                has_text = True
                unusual.append(value)
                run.append(self.no_text(element, value))
            elif nullable and element.name != "records":
                unusual.append(f"{value} is not None")
                run.append(self.null_length(element.name, self.flexible))
            else:
                return
        if len(unusual) < 2 and not has_text:
            return  # it is not worth a question
        self.write(f"if not ({' or '.join(unusual)}):")
        self.write(f"    add({self.packing(run + [('x', '')] * self.flexible)})")
        self.write("    continue")

    def no_text(self, type_: FieldType[Any], value: str) -> tuple[str, str]:
        """Format and value of the length of a text that is null or empty."""
        is_compact = self.flexible and type_ is not plain_nullable_string
        format_, null, empty = ("B", 0, 1) if is_compact else ("h", -1, 0)
        return format_, f"{null} if {value} is None else {empty}"

    def tags(self, class_: type[Any], tagged: list[Field], depth: int) -> None:
        if not tagged:
            self.run.append(("x", ""))
            return
        self.end_run()
        values = [self.value_of(field, depth) for field in tagged]
        conditions = [
            self.differs(field, value) for field, value in zip(tagged, values, strict=True)
        ]
        self.write(f"if {' or '.join(conditions)}:")
        self.write(f"    {self.tag_builder(class_, tagged)}(add, {', '.join(values)})")
        self.write("else:")
        self.write('    add(b"\\0")')

    def compile(self, class_: type[Any]) -> Builder:
        found = None if self.in_slices else in_machine_code("build", class_, self.version)
        return found or super().compile(class_)

    def tag_builder(self, class_: type[Any], tagged: list[Field]) -> str:
        values = ", ".join(self.value_of(field, 0) for field in tagged)
        return self.tag_function(class_, tagged, f"put, {values}", [])


def name_in_machine_code(kind: str, class_: type[Any], version: int) -> str:
    return f"{kind}_{class_.__name__}_{version}"


@cache
def machine_code_of(api: str) -> ModuleType | None:
    """The module that compile_c.py wrote when the package was built, if it did.

    To import it takes a millisecond or two, and so does it to find that it is not there.
    """
    try:
        return import_module(f"kafkalite.wire._rows_{api}")
    except ImportError:
        return None


def in_machine_code(kind: str, class_: type[Any], version: int) -> Any | None:
    """A function of that module."""
    if message_of(class_).kind not in (Kind.REQUEST, Kind.RESPONSE):
        return None
    functions = machine_code_of(class_.__module__.rpartition(".")[2])
    return getattr(functions, name_in_machine_code(kind, class_, version), None)
