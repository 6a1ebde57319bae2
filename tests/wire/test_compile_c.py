"""Row parsers and builders in Cython: which there are, and that the compiled build uses them.

That they do the same as those in Python is what test_compile_rows.py shows on the compiled build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from kafkalite.apis import APIS as SERVED
from kafkalite.log import record_walk
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.compile_c import APIS, Definitions, machine_code
from kafkalite.wire.compile_rows import (
    RowBuilderWriter,
    RowParserWriter,
    in_machine_code,
    machine_code_of,
    name_in_machine_code,
)
from kafkalite.wire.compile_source import FORMATS, Mode
from kafkalite.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

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
