"""Parsers and builders of messages, generated from the declarations.

A struct is an instance of its class, and keeps tagged fields that are not declared. Rows
(compile_rows.py) are the other form.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafkalite.wire.compile_build import BuilderWriter
from kafkalite.wire.compile_parse import ParserWriter
from kafkalite.wire.parse_support import BYTES_OF_COUNTED
from kafkalite.wire.schema import UNKNOWN, Field, fields_of


class MessageParserWriter(ParserWriter):
    """Writes a parser whose structs are instances, made without a call of their class."""

    def target(self, field: Field, depth: int) -> str:
        return f"o{depth}.{field.name}"

    def struct(self, class_: type[Any], depth: int) -> str:
        value = f"o{depth}"
        self.end_run()
        self.write(f"{value} = new({self.use(class_, class_.__name__)})")
        tagged = False
        for field in fields_of(class_):
            if not field.is_in(self.version) or field.tag is not None:
                self.default(field, self.target(field, depth))
                tagged |= field.is_in(self.version)
        for field in fields_of(class_):
            if field.is_in(self.version) and field.tag is None:
                self.field(field, self.target(field, depth), depth)
        no_tags = f"{value}.{UNKNOWN} = ()"
        if self.flexible:
            self.tag_section(lambda n_and_pos: self.tags(class_, value, tagged, n_and_pos), no_tags)
        else:
            self.write(no_tags)
        return value

    def tags(self, class_: type[Any], value: str, declared: bool, count_and_pos: str) -> None:
        """A tag section that is not empty."""
        if declared:
            call = self.call_tags(self.tag_parser(class_), f"{value}, buf, {count_and_pos}, end")
            self.write(f"    pos = {call}")
        elif self.yields:
            self.write(f"    pos = {self.call_tags('skip_tags', f'buf, {count_and_pos}, end')}")
            self.write(f"    {value}.{UNKNOWN} = ()")
        else:
            call = self.call_tags("unknown_tags", f"buf, {count_and_pos}")
            self.write(f"    {value}.{UNKNOWN}, pos = {call}")

    def default(self, field: Field, target: str) -> None:
        if isinstance(field.default, list):
            self.write(f"{target} = {'NONE' if self.counted else '[]'}")
        elif isinstance(field.default, type):
            self.default_struct(field.default, target)
        elif isinstance(field.default, UUID):
            self.write(f"{target} = {self.use(field.default, 'NO_UUID')}")
        else:
            self.write(f"{target} = {field.default!r}")

    def default_struct(self, class_: type[Any], target: str) -> None:
        """An instance with all fields at their defaults, in a third of the time of a call."""
        self.write(f"{target} = new({self.use(class_, class_.__name__)})")
        for field in fields_of(class_):
            self.default(field, f"{target}.{field.name}")
        self.write(f"{target}.{UNKNOWN} = ()")

    def tag_parser(self, class_: type[Any]) -> str:
        long = [f"if size >= {BYTES_OF_COUNTED}:", f"    take(size // {BYTES_OF_COUNTED})"]
        count = long if self.counted else []
        return self.tag_function(
            class_,
            "o0, ",
            begin=["unknown = []"],
            unknown=[*count, "unknown.append((tag, bytes(buf[pos:last])))"],
            end=[f"o0.{UNKNOWN} = tuple(unknown)", "return pos"],
        )


class MessageBuilderWriter(BuilderWriter):
    """Writes a builder of instances; it refuses tagged fields that are not declared."""

    def value_of(self, field: Field, depth: int) -> str:
        return f"o{depth}.{field.name}"

    def instance(self, class_: type[Any], depth: int) -> str:
        return f"o{depth}"

    def differs(self, field: Field, value: str) -> str:
        default = field.default
        if not isinstance(default, type):
            return super().differs(field, value)
        null = [] if field.nullable_since is None else [f"{value} is None"]
        inner = [self.differs(each, f"{value}.{each.name}") for each in fields_of(default)]
        return " or ".join([*null, *inner, f"{value}.{UNKNOWN}"])

    def tags(self, class_: type[Any], tagged: list[Field], depth: int) -> None:
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

    def tag_builder(self, class_: type[Any], tagged: list[Field]) -> str:
        """A function of its own for a tag section that has declared fields."""
        check = [f"if o0.{UNKNOWN}:", "    raise Odd"]
        return self.tag_function(class_, tagged, "o0, put", check)
