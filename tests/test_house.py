"""The house is tested: folders, links, sizes, names, voice. Style is a test, not a reviewer."""

import ast
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house_voice import BANS, parsed

ROOT = Path(__file__).parent.parent
ROOMS = ("wire", "log", "group_coordinator")
MOST_LINES_IN_A_FUNCTION = 70

# Bans on words hold where the product speaks; tests quote others.
PRODUCT = ("kafkalite", *ROOMS)
PRODUCT_ONLY = {"words", "phrases"}

# Modules that need no tests of their own name, and why.
UNTESTED = {
    "kafkalite/client/async_kit.py": "made by make_async.py, and held to it by its test",
    "kafkalite/client/async_looking.py": "made by make_async.py, and held to it by its test",
    "kafkalite/client/async_parts.py": "made by make_async.py, and held to it by its test",
    "kafkalite/client/async_waiting.py": "made by make_async.py, and held to it by its test",
    "kafkalite/client/errors.py": "a name only",
    "kafkalite/client/table.py": "made by make_client.py, and held to it by its test",
    "wire/api_keys.py": "names only",
    "kafkalite/requests/topic_names.py": "names only",
    "kafkalite/requests/context.py": "a value without rules",
    "kafkalite/security/sasl/mechanism.py": "a Protocol and two exceptions",
    "kafkalite/server/request_handler.py": "a Protocol",
    "kafkalite/services.py": "a value without rules",
    "group_coordinator/services.py": "a value without rules",
    "group_coordinator/topics_view.py": "a Protocol",
    "log/errors.py": "values without rules",
}
# Folders whose modules are tested together, and by what.
TESTED_TOGETHER = {
    "wire/messages": "tests/wire/test_messages.py",  # declarations: one table of tests for all
    "kafkalite/spark/audit": "tests/kafkalite/spark/test_audit.py",
    "kafkalite/spark/pipelines": "tests/kafkalite/spark/test_pipelines.py",
    "kafkalite/spark/proof": "tests/kafkalite/spark/test_proof.py",
}


def package_folders() -> dict[str, str]:
    """Every folder with Python in it that belongs in the wheel, by its import name."""
    found: dict[str, str] = {}
    for top in ("kafkalite", *ROOMS):
        for init in sorted((ROOT / top).rglob("__init__.py")):
            folder = init.parent.relative_to(ROOT)
            if top == "kafkalite" and len(folder.parts) > 1 and folder.parts[1] in ROOMS:
                continue  # the links
            name = ".".join(folder.parts)
            found[name if top == "kafkalite" else f"kafkalite.{name}"] = str(folder)
    return found


@functools.cache
def sources() -> list[Path]:
    return [
        path
        for top in ("kafkalite", *ROOMS, "conformance", "tests", "examples", "docs")
        for path in sorted((ROOT / top).rglob("*.py"))
        if not (top == "kafkalite" and path.relative_to(ROOT).parts[1] in ROOMS)
        and "node_modules" not in path.parts
    ]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_package_folder_is_in_the_wheel() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(package_folders())


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_linked_for_tools_that_read_source(room: str) -> None:
    link = ROOT / "kafkalite" / room
    assert link.is_symlink()
    assert link.resolve() == ROOT / room


def test_one_api_has_one_name_everywhere() -> None:
    """wire/messages/produce.py, kafkalite/apis/produce.py: the same stem for the same API."""
    handlers = {path.stem for path in (ROOT / "kafkalite" / "apis").glob("*.py")} - {"__init__"}
    messages = {path.stem for path in (ROOT / "wire" / "messages").glob("*.py")}
    assert handlers <= messages


def room_of(path: Path) -> str:
    """The folder whose voice a file shares: a room of the product, or what lies beside it."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if parts[0] == "kafkalite" and len(parts) > 2 else parts[0]


def functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The outermost functions and methods: no function in one of them is longer than it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        else:
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from functions(getattr(node, name, []))


def long_functions(tree: ast.Module) -> Iterator[str]:
    for node in functions(tree.body):
        size = (node.end_lineno or 0) - node.lineno + 1
        if size > MOST_LINES_IN_A_FUNCTION:
            yield f"{node.name} has {size} lines"


def offences(path: Path) -> Iterator[str]:
    """All of a file's offences, each with the name of its ban."""
    text = path.read_text()
    tree = parsed(text)
    if not ast.get_docstring(tree):
        yield "purpose: a module opens with what it is for"
    for found in long_functions(tree):
        yield f"functions: {found}"
    for ban, find in BANS.items():
        if ban not in PRODUCT_ONLY or room_of(path).startswith(PRODUCT):
            for found in find(text):
                yield f"{ban}: {found}"


@functools.cache
def sources_of_rooms() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sources():
        found.setdefault(room_of(path), []).append(path)
    return found


@pytest.mark.parametrize("room", sorted(sources_of_rooms()))
def test_a_room_keeps_the_bans(room: str) -> None:
    found = [
        f"{named(path)}: {each}" for path in sources_of_rooms()[room] for each in offences(path)
    ]
    assert found == [], "\n".join(found)


def modules() -> list[Path]:
    return [
        path.relative_to(ROOT)
        for path in sources()
        if path.relative_to(ROOT).parts[0] in PRODUCT and path.name != "__init__.py"
    ]


def twin_of(module: Path) -> Path:
    """`kafkalite/apis/produce.py` -> `tests/kafkalite/apis/test_produce.py`."""
    return Path("tests") / module.parent / f"test_{module.stem.strip('_')}.py"


def test_a_module_has_its_tests_where_one_looks_for_them() -> None:
    missing = [
        str(twin_of(module))
        for module in modules()
        if not any(module.is_relative_to(folder) for folder in TESTED_TOGETHER)
        and str(module) not in UNTESTED
        and not (ROOT / twin_of(module)).is_file()
    ]
    assert missing == [], "\n".join(missing)


def test_what_needs_no_tests_is_there() -> None:
    for name in (*UNTESTED, *TESTED_TOGETHER, *TESTED_TOGETHER.values()):
        assert (ROOT / name).exists(), name


# The root holds what puts things together; everything else is a room that says what it is.
ROOT_MODULES = {
    "__init__",
    "__main__",
    "background",
    "broker",
    "clock",
    "faults",
    "pytest_plugin",
    "quorum_broker",
    "services",
    "storage_format",
    "supervision",
    "testing",
}
KAFKALITE_ROOMS = {
    "apis",
    "client",
    "cluster",
    "config",
    "control",
    "coordinators",
    "metrics",
    "peers",
    "quorum",
    "replica",
    "replication",
    "requests",
    "schemas",
    "security",
    "server",
    "spark",
    "telemetry",
    "terminal",
    "ui",
}


def test_the_root_holds_what_puts_things_together() -> None:
    """A new room is named here, in ARCHITECTURE.md and in the floors of pyproject.toml."""
    here = ROOT / "kafkalite"
    assert {path.stem for path in here.glob("*.py")} <= ROOT_MODULES
    rooms = {
        path.parent.name for path in here.glob("*/__init__.py") if not path.parent.is_symlink()
    }
    assert rooms <= KAFKALITE_ROOMS
