"""The house is tested: folders, links, sizes, names. Style is a test, not a reviewer."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("wire", "log", "group_coordinator")
MOST_LINES_IN_A_FILE = 500
MOST_LINES_IN_A_FUNCTION = 70


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


@pytest.mark.parametrize("path", sources(), ids=named)
def test_a_module_says_what_it_is_for_and_stays_readable(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens with what it is for"
    assert text.count("\n") <= MOST_LINES_IN_A_FILE
    long = {
        node.name: size
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (size := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_IN_A_FUNCTION
    }
    assert not long


def test_one_api_has_one_name_everywhere() -> None:
    """wire/messages/produce.py, kafkalite/apis/produce.py: the same stem for the same API."""
    handlers = {path.stem for path in (ROOT / "kafkalite" / "apis").glob("*.py")} - {"__init__"}
    messages = {path.stem for path in (ROOT / "wire" / "messages").glob("*.py")}
    assert handlers <= messages
