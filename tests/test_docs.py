"""The documents say what the code does: generated parts are up to date, and names are of things
that exist."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from kafkalite.control.faults.rule import KINDS, Action

DOCS = Path(__file__).parent.parent / "docs"
ROOT = DOCS.parent
ROOMS = "wire|log|group_coordinator|kafkalite|conformance|tests|docs|examples"
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
PATH = re.compile(rf"`((?:{ROOMS})/[\w/.]+)`")
PLACE = re.compile(rf"`((?:{ROOMS})/[\w/]+\.py): (\w+)`")
MODULE = re.compile(r"python -m ((?:kafkalite|conformance|tests)[\w.]*)")
TARGET = re.compile(r"(?m)(?:`|^\s*(?:\$ )?)make ([a-z-]+)")
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(
        each
        for room in ROOMS.split("|")
        for each in sorted((ROOT / room).rglob("*.md"))
        if "node_modules" not in each.parts
    ),
]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", generator().PARTS)
def test_generated_parts_are_up_to_date(name: str) -> None:
    written = (DOCS.parent / name).read_text()
    assert written == generator().generated(name), "run `make docs`"


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_what_a_document_names_is_there(document: Path) -> None:
    text = document.read_text()
    links = [link for link in LINK.findall(text) if not (document.parent / link).exists()]
    paths = [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    places = [place for place in PLACE.findall(text) if not defines(*place)]
    modules = [name for name in MODULE.findall(text) if not is_program(name)]
    targets = set(TARGET.findall(text)) - set(make_targets())
    assert (links, paths, places, modules, targets) == ([], [], [], [], set())


def defines(path: str, name: str) -> bool:
    """True if a file defines a class or function of this name."""
    if not (ROOT / path).is_file():
        return False
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    return any(getattr(node, "name", None) == name for node in nodes)


def is_program(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def make_targets() -> list[str]:
    return re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())


def test_the_actions_of_faults_are_written_as_they_are_read() -> None:
    text = (DOCS / "testing.md").read_text()
    (actions,) = re.findall(r"(?s)```json\n(.*?)```", text)
    kinds = {action.kind for action in msgspec.json.decode(actions, type=list[Action])}
    assert kinds == set(KINDS) - {"uniform", "lognormal", "count", "short"}


def test_the_readmes_commands_have_the_flags_that_it_shows() -> None:
    """Flags in the documents' examples are known to the command."""
    shown = subprocess.run(
        [sys.executable, "-m", "kafkalite", "--help"], check=True, capture_output=True, text=True
    ).stdout
    examples = (ROOT / "README.md").read_text() + (DOCS / "security.md").read_text()
    for command in re.findall(r"(?m)^\$ kafkalite (--.*(?:\\\n.*)*)", examples):
        for flag in re.findall(r"--[a-z-]+", command):
            assert flag in shown, flag
