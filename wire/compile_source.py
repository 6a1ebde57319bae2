"""The source of a generated function, written line by line.

Parsers (compile_parse.py) and builders (compile_build.py) are written in the same way: lines with
an indent, global names for the values that they use, and functions of their own for tag sections.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from kafkalite.wire.fields import FieldType, plain_nullable_string
from kafkalite.wire.parse_support import Odd
from kafkalite.wire.schema import Shape, fields_of

# Elements between two yields of a generated generator, less one.
STEP: Final = 255
# Numbers of an array that a slow parser reads at once.
NUMBERS_AT_ONCE: Final = 8192

# Formats of `struct` and sizes, by Kafka's name of a type.
FORMATS: Final = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
PLAIN_LENGTHS: Final = {"string": ("h", 2), "bytes": ("i", 4), "records": ("i", 4)}
FEW: Final = 8  # arrays shorter than this have their own struct.Struct
TIMES: Final = [(None,) * n for n in range(FEW)]  # to go through, quicker than a range is made


def smallest_size(element: FieldType[Any] | type[Any], version: int, *, flexible: bool) -> int:
    """Bytes that an element of an array takes at least."""
    if isinstance(element, FieldType):
        if element.name in FORMATS:
            return FORMATS[element.name][1]
        is_compact = flexible and element is not plain_nullable_string
        return 1 if is_compact else PLAIN_LENGTHS.get(element.name, ("i", 4))[1]
    size = 1 if flexible else 0  # of the tags
    for field in fields_of(element):
        if field.tag is not None or not field.is_in(version):
            continue
        if field.shape is Shape.ARRAY:
            size += 1 if flexible else 4
        elif isinstance(field.element, type) and field.nullable_in(version):
            size += 1
        else:
            size += smallest_size(field.element, version, flexible=flexible)
    return size


def format_of_numbers(class_: type[Any], version: int) -> str | None:
    """The format of a struct that has nothing but numbers; None for any other."""
    formats: list[str] = []
    for field in fields_of(class_):
        if not field.is_in(version) or field.tag is not None:
            continue
        element = field.element
        is_number = field.shape is Shape.ONE and isinstance(element, FieldType)
        if not is_number or element.name not in FORMATS or element.name == "uuid":
            return None
        formats.append(FORMATS[element.name][0])
    return "".join(formats) or None


class Mode(Enum):
    """FAST: for frames too small to hold many elements; it counts none.

    COUNTED: raises ManyElements for a frame whose elements would hold the loop for too long. SLOW:
    a generator that yields now and then, counts up to `most_elements` (fields.py), and reads
    malformed text as Kafka does. It passes over unknown tagged fields.
    """

    FAST = "fast"
    COUNTED = "counted"
    SLOW = "slow"


class SourceWriter:
    """Writes the source of one function, and collects the names that it uses."""

    # Ends the names of the functions, where several share a module.
    number = ""

    def __init__(self, version: int, *, flexible: bool, names: dict[str, Any]) -> None:
        self.version = version
        self.flexible = flexible
        self.in_function = False
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.indent = 1
        self.names: dict[str, Any] = {"Odd": Odd, **names}

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def write_all(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def use(self, value: Any, name: str) -> str:
        """A global name for a value."""
        while self.names.get(name, value) is not value:
            name += "_"
        self.names[name] = value
        return name

    def use_made(self, kind: str, format_: str, make: Callable[[], Any]) -> str:
        """A global name for a value of a struct format, which is made at the first use."""
        name = f"{kind}_{format_.replace('?', 't')}"
        if name not in self.names:
            self.names[name] = make()
        return name

    @contextmanager
    def own_function(self, head: str) -> Generator[None, None, None]:
        """Lines written inside become a function of their own, before the one being written."""
        lines, indent = self.lines, self.indent
        self.lines, self.indent, self.in_function = [head], 1, True
        yield
        self.functions.append("\n".join(self.lines))
        self.lines, self.indent, self.in_function = lines, indent, False

    def execute(self, source: str, function: str, title: str) -> Any:
        """The function of this name that the source defines."""
        code = compile(source, f"<{title}>", "exec")
        exec(code, self.names)  # noqa: S102 - the source is made of our own declarations
        return self.names[function]
