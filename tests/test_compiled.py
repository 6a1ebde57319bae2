"""The modules that are also compiled keep the rules of mypyc, which no other check knows.

docs/compiled.md has the rules. `make unit-compiled` shows that the compiled build works.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.each import for_each

ROOT = Path(__file__).parent.parent
TABLE = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["kafkalite"]["compiled"]
MODULES: list[str] = TABLE["modules"]

# Most sources need not be parsed: no class in them has a base of such a name.
_BASES = re.compile(r"(?m)^\s*class\s+\w+\s*(?:\[[^:]*\])?\(([^:]*)")
_IN_BASES = re.compile(r"\w+")


def path_of(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


def classes(path: Path) -> Iterator[ast.ClassDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            yield node


def children(source: str, parents: set[str]) -> set[str]:
    """The classes in `source` that derive from one of `parents`."""
    if not parents & set(_IN_BASES.findall(" ".join(_BASES.findall(source)))):
        return set()
    return {
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if ast.unparse(base).partition("[")[0].rpartition(".")[2] in parents
    }


def is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).startswith(("Protocol", "NamedTuple")) for base in node.bases)


def deleted_attributes(source: str) -> list[str]:
    """Attributes that are deleted, but for those that a class says are (`__deletable__`)."""
    nodes = list(ast.walk(ast.parse(source)))
    said = {
        name
        for node in nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__deletable__"
        for name in ast.literal_eval(node.value)
    }
    return [
        ast.unparse(target)
        for node in nodes
        if isinstance(node, ast.Delete)
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr not in said
    ]


def slices_that_assign(source: str) -> list[str]:
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Slice)
        and any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))
    ]


def test_the_table_is_sorted_and_names_modules_that_exist() -> None:
    assert sorted(set(MODULES)) == MODULES
    assert [name for name in MODULES if not path_of(name).exists()] == []


def test_no_class_in_python_derives_from_a_compiled_one() -> None:
    compiled = {path_of(name).resolve() for name in MODULES}
    parents = {node.name for path in compiled for node in classes(path) if not is_protocol(node)}
    assert "LogState" in parents
    others = {path.resolve() for path in (ROOT / "kafkalite").rglob("*.py")}
    for room in ("wire", "log", "group_coordinator", "tests"):
        others |= {path.resolve() for path in (ROOT / room).rglob("*.py")}
    found = {
        str(path.relative_to(ROOT)): names
        for path in others - compiled
        if (names := children(path.read_text(), parents))
    }
    assert found == {}


@for_each(MODULES)
def test_a_compiled_module_does_not_what_mypyc_cannot(name: str) -> None:
    source = path_of(name).read_text()
    assert (deleted_attributes(source), slices_that_assign(source)) == ([], [])


def test_the_rules_find_what_they_forbid() -> None:
    assert children("class Child(log.Parent[int]): ...", {"Parent"}) == {"Child"}
    assert children("class Child(Other): ...", {"Parent"}) == set()
    assert deleted_attributes("del self.context, other") == ["self.context"]
    assert deleted_attributes('__deletable__ = ("context",); del self.context') == []
    assert len(slices_that_assign("data[at : (at := at + 1)]; data[(at := 0)]")) == 1
