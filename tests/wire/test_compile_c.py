"""Row parsers and builders in Cython: which there are, and that the compiled build uses them.

That they do the same as those in Python is what test_compile_rows.py shows on the compiled build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any, cast

import pytest

from conformance.harness.random_messages import broken, random_message
from kafkalite.apis import APIS as SERVED
from kafkalite.log import record_walk
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.compile_build import BUILD_ODDITIES, BuilderWriter
from kafkalite.wire.compile_c import APIS, Definitions, machine_code
from kafkalite.wire.compile_parse import ParserWriter
from kafkalite.wire.compile_rows import (
    RowBuilderWriter,
    RowParserWriter,
    in_machine_code,
    machine_code_of,
    name_in_machine_code,
)
from kafkalite.wire.compile_source import FORMATS, Mode
from kafkalite.wire.message_codec import build_body, join
from kafkalite.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.wire.parse_support import PARSE_ODDITIES, ManyElements
from kafkalite.wire.rows import rows_of
from kafkalite.wire.schema import message_of

IS_COMPILED = not record_walk.__file__.endswith(".py")


def functions_of(key: ApiKey) -> list[tuple[str, type[Any], int]]:
    """Kind, class and version of all that a module has."""
    api = SERVED[key]
    return [
        (kind, class_, version)
        for kind, class_ in (
            ("parse_bytes", request_class(key)),
            ("parse_view", request_class(key)),
            ("build", response_class(key)),
        )
        for version in range(api.min_version, api.max_version + 1)
    ]


def test_all_apis_that_have_rows_are_there() -> None:
    assert set(APIS) == {key for key, api in SERVED.items() if api.rows}


@pytest.mark.parametrize("key", APIS, ids=lambda key: key.name)
def test_every_version_has_its_functions(key: ApiKey) -> None:
    source = machine_code(key)
    for each in functions_of(key):
        name = re.escape(name_in_machine_code(*each))
        (function,) = re.findall(rf"(?m)^{name} = (\w+)$", source)
        assert re.search(rf"(?m)^def {function}\(", source)


@pytest.mark.parametrize("key", APIS, ids=lambda key: key.name)
def test_the_compiled_build_has_them(key: ApiKey) -> None:
    assert {in_machine_code(*each) is not None for each in functions_of(key)} == {IS_COMPILED}


def test_equal_functions_stand_once() -> None:
    source = machine_code(ApiKey.PRODUCE)
    functions = re.findall(r"(?m)^def (parse|build)\d+\(", source)
    assert len(functions) < len(functions_of(ApiKey.PRODUCE))


@pytest.mark.parametrize("key", APIS, ids=lambda key: key.name)
def test_memory_is_read_within_its_limit_only(key: ApiKey) -> None:
    """Each read of several bytes comes after a look at where it ends."""
    lines = machine_code(key).splitlines()
    found = [number for number, line in enumerate(lines) if re.search(r"= read_|= data\[", line)]
    for number in found:
        before = number - 1
        while re.search(r"= (read_|data\[|part\()", lines[before]):
            before -= 1
        assert lines[before].strip() == "raise Odd"
        checked = re.fullmatch(r" *if pos \+ (\d+) > limit:", lines[before - 1])
        read = re.search(r"read_(\w)\(data \+ pos \+ (\d+)\)|data\[pos \+ (\d+)\]", lines[number])
        assert checked is not None
        assert read is not None
        sizes = dict(FORMATS.values())
        end = int(read[2]) + {**sizes, "B": 1}[read[1]] if read[1] else int(read[3]) + 1
        assert end <= int(checked[1])
    assert "buf[" not in "".join(lines)


def test_a_name_has_one_meaning() -> None:
    definitions = Definitions()
    definitions.add("a", "a = 1")
    definitions.add("a", "a = 1")
    with pytest.raises(ValueError, match="two meanings"):
        definitions.add("a", "a = 2")


@pytest.fixture
def looked_for_anew() -> Iterator[None]:
    machine_code_of.cache_clear()
    yield
    machine_code_of.cache_clear()


@pytest.mark.usefixtures("looked_for_anew")
def test_machine_code_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("kafkalite.wire._rows_heartbeat")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.parse_bytes_HeartbeatRequest_4 = parse = lambda: None
    module.parse_view_HeartbeatRequest_4 = parse_view = lambda: None
    module.build_HeartbeatResponse_4 = build = lambda: None

    def parser(version: int = 4, *, whole: bool = False, **options: Any) -> Any:
        options = {"in_memoryview": False, "flexible": True, "mode": Mode.FAST} | options
        return RowParserWriter(version, **options).compile(HeartbeatRequest, whole=whole)

    def builder(version: int = 4, **options: Any) -> Any:
        return RowBuilderWriter(version, flexible=True, **options).compile(HeartbeatResponse)

    assert parser() is parse
    assert parser(in_memoryview=True, mode=Mode.COUNTED) is parse_view
    assert builder() is build
    written = [
        parser(3),
        parser(whole=True),
        parser(in_memoryview=True, mode=Mode.SLOW),
        builder(3),
        builder(in_slices=True),
    ]
    assert not {*written} & {parse, parse_view, build}


def outcome(parse: Any, frame: Any) -> Any:
    try:
        return plain(parse(frame, 0, len(frame)))
    except (*PARSE_ODDITIES, ManyElements) as error:
        return type(error) is ManyElements


def plain(value: Any) -> Any:
    """Rows with bytes in place of views."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in cast("list[Any]", value)]
    return value


def built(build: Any, row: Any) -> Any:
    parts: list[bytes] = []
    chunks: list[Any] = []
    try:
        build(row, parts, chunks)
    except BUILD_ODDITIES:
        return None
    return [*map(bytes, chunks), b"".join(parts)]


def parsers(class_: type[Any], version: int, *, in_view: bool) -> tuple[Any, Any]:
    """Two parsers, the second of which is always in Python."""
    mode = Mode.COUNTED if in_view else Mode.FAST
    first, second = (
        RowParserWriter(
            version,
            flexible=message_of(class_).is_flexible(version),
            in_memoryview=in_view,
            mode=mode,
        )
        for _ in range(2)
    )
    return first.compile(class_, whole=False), ParserWriter.compile(second, class_, whole=False)


def builders(class_: type[Any], version: int) -> tuple[Any, Any]:
    flexible = message_of(class_).is_flexible(version)
    first, second = (RowBuilderWriter(version, flexible=flexible) for _ in range(2))
    return first.compile(class_), BuilderWriter.compile(second, class_)


@pytest.mark.parametrize("key", APIS, ids=lambda key: key.name)
def test_machine_code_does_what_python_does(key: ApiKey) -> None:
    """In the compiled build; in pure Python both are the same."""
    random = Random(key)
    request, response = request_class(key), response_class(key)
    for version in range(SERVED[key].min_version, SERVED[key].max_version + 1):
        in_bytes = parsers(request, version, in_view=False)
        in_view = parsers(request, version, in_view=True)
        build, build_in_python = builders(response, version)
        for _ in range(10):
            frame = join(build_body(random_message(random, request, version), version))
            for damaged in (frame, *(broken(random, frame, frame) for _ in range(5))):
                found = [outcome(parse, damaged) for parse in in_bytes]
                found += [outcome(parse, memoryview(damaged)) for parse in in_view]
                assert found[0] == found[1]
                assert found[2] == found[3]
            row = rows_of(random_message(random, response, version))
            assert built(build, row) == built(build_in_python, row)
