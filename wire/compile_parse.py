"""Parsers, generated from the declarations.

For each struct and version there is one function of straight-line Python: runs of fixed-size fields
are read by one `struct.Struct`, into which the length byte that follows is drawn too; nested
structs are loops within. It looks like this (Heartbeat 4):

    def parse(buf, pos, end):
        o0 = new(HeartbeatRequest)
        n = buf[pos]
        pos += 1
        if n > 127: n, pos = long_string(buf, pos)
        if not n: raise Odd
        o0.group_id = buf[pos : (pos := pos + n - 1)].decode()
        ...

A parser knows only what is well-formed and usual. Anything else ends in `Odd` or another of
PARSE_ODDITIES (parse_support.py), and its caller asks a slower way. Cut slices need no check of
their own, as positions only grow, and the last one must be the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Any, TypeAlias

from kafkalite.wire.compile_source import (
    FEW,
    FORMATS,
    NUMBERS_AT_ONCE,
    PLAIN_LENGTHS,
    STEP,
    TIMES,
    Mode,
    SourceWriter,
    smallest_size,
)
from kafkalite.wire.fields import NUMBERS_OF_ELEMENT, FieldType, plain_nullable_string
from kafkalite.wire.parse_support import (
    BYTES_OF_COUNTED,
    NO_ELEMENTS,
    SHORT_SECTION,
    copied,
    counting,
    counting_few,
    long_string,
    long_varint,
    skip_tags,
    skip_tags_in_slices,
    tag_count,
    unknown_tags,
    uuid_of,
    varint,
)
from kafkalite.wire.schema import Field, Shape, fields_of

Parser: TypeAlias = Callable[[Any, int, int], Any]


class ParserWriter(SourceWriter, ABC):
    """Writes the source of one parser; subclasses say what is made of a struct."""

    times = f"TIMES[n] if n < {FEW} else range(n)"

    def __init__(
        self, version: int, *, flexible: bool, in_memoryview: bool, mode: Mode = Mode.FAST
    ) -> None:
        names = {
            "NONE": NO_ELEMENTS,
            "TIMES": TIMES,
            "copied": copied,
            "counting": counting_few if mode is Mode.COUNTED else counting,
            "long_string": long_string,
            "long_varint": long_varint,
            "skip_tags": skip_tags_in_slices if mode is Mode.SLOW else skip_tags,
            "tag_count": tag_count,
            "new": object.__new__,
            "unknown_tags": unknown_tags,
            "unpack_from": unpack_from,
            "uuid_of": uuid_of,
            "varint": varint,
        }
        super().__init__(version, flexible=flexible, names=names)
        self.in_memoryview = in_memoryview
        self.copies_records = False
        self.mode = mode
        self.counted = mode is not Mode.FAST
        self.yields = mode is Mode.SLOW
        self.run: list[tuple[str, int, str]] = []
        self.after_run: list[str] = []
        self.uses_view = False

    @abstractmethod
    def target(self, field: Field, depth: int) -> str:
        """The variable or attribute for a field of the struct at a depth."""

    @abstractmethod
    def struct(self, class_: type[Any], depth: int) -> str:
        """Reads a struct; the expression of its value, good once the run has ended."""

    def add_to_run(self, format_: str, size: int, target: str) -> None:
        self.run.append((format_, size, target))

    def end_run(self) -> None:
        """Writes one unpack for the run."""
        run, self.run = self.run, []
        if len(run) == 1 and run[0][0] == "B":
            self.write(f"{run[0][2]} = buf[pos]")
        elif run:
            self.unpack(run)
        if run:
            self.write(f"pos += {sum(part[1] for part in run)}")
        self.write_all(self.after_run)
        self.after_run.clear()

    def unpack(self, run: list[tuple[str, int, str]]) -> None:
        """Reads numbers and UUIDs: format, size and variable of each."""
        format_ = "".join(part[0] for part in run)
        unpack = self.use_made("unpack", format_, lambda: Struct(">" + format_).unpack_from)
        self.write(f"({', '.join(part[2] for part in run)},) = {unpack}(buf, pos)")

    def use_few(self, format_: str) -> str:
        """A list of functions that unpack 0, 1, 2... values: quicker than to make a format."""
        return self.use_made(
            "few", format_, lambda: [Struct(f">{n}{format_}").unpack_from for n in range(FEW)]
        )

    def tag_section(self, tags: Callable[[str], None], no_tags: str | None) -> None:
        """Reads a tag section: `tags` writes what to do if it is not empty."""
        if self.run:
            self.add_to_run("B", 1, "n")
            self.end_run()
            self.write("if n:")
            tags("n, pos")
            if no_tags is not None:
                self.write("else:")
                self.write(f"    {no_tags}")
            return
        self.write("if buf[pos]:")
        tags("buf[pos], pos + 1")
        self.write("else:")
        self.write("    pos += 1")
        if no_tags is not None:
            self.write(f"    {no_tags}")

    def field(self, field: Field, target: str, depth: int) -> None:
        nullable = field.nullable_in(self.version)
        if field.shape is Shape.ARRAY:
            self.array(field.element, target, nullable, depth)
        elif isinstance(field.element, FieldType):
            self.plain(field.element, target, nullable)
        elif nullable:
            self.add_to_run("b", 1, "n")
            self.end_run()
            self.write(f"if n {'<' if field.tag is None else '<='} 0:")
            self.write(f"    {target} = None")
            self.write("else:")
            self.indent += 1
            self.nested(field.element, target, depth)
            self.indent -= 1
        else:
            self.nested(field.element, target, depth)

    def nested(self, class_: type[Any], target: str, depth: int) -> None:
        value = self.struct(class_, depth + 1)
        self.end_run()
        self.write(f"{target} = {value}")

    def plain(self, type_: FieldType[Any], target: str, nullable: bool) -> None:
        if type_.name == "uuid":
            temporary = f"u{len(self.after_run)}"
            self.add_to_run("16s", 16, temporary)
            self.after_run.append(f"{target} = uuid_of({temporary})")
        elif type_.name in FORMATS:
            self.add_to_run(*FORMATS[type_.name], target)
        else:
            self.sized(type_, target, nullable)

    def length(self, type_name: str, nullable: bool, compact: bool) -> None:
        """Reads a length into `n`."""
        if compact:
            self.add_to_run("B", 1, "n")
            self.end_run()
            self.write("if n > 127:")
            self.write(
                f"    n, pos = long_{'string' if type_name == 'string' else 'varint'}(buf, pos)"
            )
        else:
            self.add_to_run(*PLAIN_LENGTHS.get(type_name, ("i", 4)), "n")
            self.end_run()
        if not nullable:
            self.write("if not n:" if compact else "if n < 0:")
            self.write("    raise Odd")

    def null_or(self, target: str, nullable: bool, compact: bool) -> None:
        """Opens the branch for what is not null."""
        if not nullable:
            return
        if compact:
            self.write("if not n:")
        else:
            self.write("if n < 0:")
            self.write("    if n != -1:")
            self.write("        raise Odd")
        self.write(f"    {target} = None")
        self.write("else:")
        self.indent += 1

    def sized(self, type_: FieldType[Any], target: str, nullable: bool) -> None:
        compact = self.flexible and type_ is not plain_nullable_string
        self.length(type_.name, nullable, compact)
        self.null_or(target, nullable, compact)
        self.count_long(type_)
        self.cut(type_, target, f"n{' - 1' if compact else ''}")
        self.indent -= nullable

    def cut(self, type_: FieldType[Any], target: str, size: str) -> None:
        """Reads text, bytes or records of this size."""
        cut = f"buf[pos : (pos := pos + {size})]"
        if type_.name == "records" and not self.copies_records:
            self.uses_view = True
            self.write(f"{target} = view{cut[3:]}")
        elif type_.name in ("bytes", "records"):
            make = "yield from copied" if self.yields else "bytes"
            self.write(f"{target} = {f'{make}({cut})' if self.in_memoryview else cut}")
        elif self.yields:
            self.write(f'{target} = str({cut}, "utf-8", "replace")')
        elif self.in_memoryview:
            self.write(f'{target} = str({cut}, "utf-8")')
        else:
            self.write(f"{target} = {cut}.decode()")

    def count_long(self, type_: FieldType[Any]) -> None:
        """Counts text or bytes that are long as elements, each of so many bytes."""
        is_view = type_.name == "records" and not self.copies_records
        if is_view or not self.counted:
            return
        self.write(f"if n >= {BYTES_OF_COUNTED}:")
        counted = f"min(n, end - pos) // {BYTES_OF_COUNTED}"
        self.write(f"    count += {counted}" if self.yields else f"    take({counted})")

    def array(
        self, element: FieldType[Any] | type[Any], target: str, nullable: bool, depth: int
    ) -> None:
        self.length("array", nullable, self.flexible)
        self.null_or(target, nullable, self.flexible)
        if self.flexible:
            self.write("n -= 1")
        if isinstance(element, FieldType) and element.name in FORMATS and element.name != "uuid":
            self.numbers(*FORMATS[element.name], target)
        else:
            size = smallest_size(element, self.version, flexible=self.flexible)
            self.write(f"if n{f' * {size}' if size > 1 else ''} > end - pos:")
            self.write("    raise Odd")
            if self.counted:
                self.write("take(n)")
            at_once = isinstance(element, type) and self.rows_at_once(element, target)
            self.one_by_one(element, target, depth)
            self.indent -= at_once
        self.indent -= nullable

    def rows_at_once(self, class_: type[Any], target: str) -> bool:
        """Reads `n` structs by one call, if they can be; True if a branch for all others is open
        then."""
        return False

    def one_by_one(self, element: FieldType[Any] | type[Any], target: str, depth: int) -> None:
        """Reads `n` elements of an array."""
        items = f"l{depth}"
        self.write(f"{target} = {items} = {'[] if n else NONE' if self.counted else '[]'}")
        self.write(f"for _ in {self.times}:")
        self.indent += 1
        if isinstance(element, FieldType):
            self.plain(element, "item", False)
            self.end_run()
            self.write(f"{items}.append(item)")
        else:
            value = self.struct(element, depth + 1)
            self.end_run()
            self.write(f"{items}.append({value})")
        self.count_one()
        self.indent -= 1

    def count_one(self) -> None:
        """Counts an element or a tagged field of a step."""
        if self.yields:
            self.write("count += 1")
            self.write(f"if count > {STEP}:")
            self.write("    count = 0")
            self.write("    yield")

    def numbers(self, format_: str, size: int, target: str) -> None:
        """An array of numbers of one size."""
        self.write(f"stop = pos + n * {size}")
        self.write("if stop > end:")
        self.write("    raise Odd")
        if self.counted:
            self.write(f"take((n + {NUMBERS_OF_ELEMENT - 1}) // {NUMBERS_OF_ELEMENT})")
        if self.yields:
            self.write(f"{target} = [] if n else NONE")
            self.write("while n:")
            self.write(f"    some = min(n, {NUMBERS_AT_ONCE})")
            self.write(f'    {target} += unpack_from(f">{{some}}{format_}", buf, pos)')
            self.write(f"    pos += some * {size}")
            self.write("    n -= some")
            self.write("    yield")
            return
        several = self.use_few(format_)
        other = f'unpack_from(f">{{n}}{format_}", buf, pos)'
        made = f"list({several}[n](buf, pos) if n < {FEW} else {other})"
        self.write(f"{target} = {f'{made} if n else NONE' if self.counted else made}")
        self.write("pos = stop")

    def tag_function(
        self,
        class_: type[Any],
        parameters: str,
        *,
        begin: list[str],
        unknown: list[str],
        end: list[str],
    ) -> str:
        name = f"tags_of_{class_.__name__}{self.number}"
        take = ", take" if self.counted else ""
        with self.own_function(f"def {name}({parameters}buf, tags, pos, end{take}):"):
            self.write("if tags > 127:")
            self.write("    tags, pos = tag_count(buf, pos)")
            if self.counted:
                self.write("take(tags)")
            if self.yields:
                self.write("count = 0")
            self.write_all(begin)
            self.write("for _ in range(tags):")
            self.indent = 2
            self.count_one()
            self.write("tag, pos = varint(buf, pos)")
            self.write("size, pos = varint(buf, pos)")
            self.write("last = pos + size")
            for field in fields_of(class_):
                if field.tag is not None and field.is_in(self.version):
                    self.tagged(field)
            self.write_all([] if self.yields else unknown)
            self.write("pos = last")
            self.indent = 1
            if self.yields:
                self.write(f"if count > {SHORT_SECTION}:")
                self.write("    yield")
            self.write_all(end)
        return name

    def call_tags(self, function: str, arguments: str) -> str:
        """A call of a function that reads a tag section."""
        call = f"{function}({arguments}{', take' if self.counted else ''})"
        return f"yield from {call}" if self.yields else call

    def tagged(self, field: Field) -> None:
        """Reads one tagged field, whose size must be the one before it."""
        self.write(f"if tag == {field.tag}:")
        self.indent = 3
        self.field(field, self.target(field, 0), 0)
        self.end_run()
        self.write("if pos != last:")
        self.write("    raise Odd")
        self.write("continue")
        self.indent = 2

    def source(self, class_: type[Any], *, whole: bool) -> str:
        """The source of a parser."""
        value = self.struct(class_, 0)
        self.end_run()
        head = ["def parse(buf, pos, end):"]
        if self.counted:
            head.append("    take = counting(end)")
        if self.uses_view:
            head.append("    view = memoryview(buf)")
        if self.mode is Mode.SLOW:
            head += ["    count = 0", "    if count:", "        yield"]  # always a generator
        check = "    if pos != end:" if whole else "    if pos > end:"
        tail = [check, "        raise Odd", f"    return {value}", ""]
        return "\n".join([*self.functions, *head, *self.lines, *tail])

    def compile(self, class_: type[Any], *, whole: bool = True) -> Parser:
        """A function from (buffer, position, end of buffer) to a message or row of `class_`.

        Not `whole`: bytes after the message are passed over.
        """
        source = self.source(class_, whole=whole)
        parse: Parser = self.execute(source, "parse", f"parser of {class_.__name__} {self.version}")
        return parse
