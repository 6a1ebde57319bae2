"""The README names modules and functions that are there."""

import ast
import re
from pathlib import Path

from tests.each import for_each

ROOM = Path(__file__).parents[2] / "group_coordinator"
TEXT = (ROOM / "README.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?:: (\w+))?`", TEXT)))


@for_each(NAMED)
def test_what_is_named_is_there(named: tuple[str, str]) -> None:
    module, name = named
    path = (ROOM.parent if "/" in module else ROOM) / module
    assert path.is_file()
    tree = ast.parse(path.read_text())
    defined = {getattr(node, "name", None) for node in ast.walk(tree)}
    assert not name or name in defined


def test_every_module_is_named() -> None:
    modules = {path.name for path in ROOM.glob("*.py")} - {"__init__.py"}
    named = {module for module, _ in NAMED}
    records = {name for name in modules if name.endswith("_records.py")}  # as `*_records.py`
    assert modules - records <= named
