"""The wheel: what is in the tree is in it, and nothing else."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = ("kafkalite", "wire", "log", "group_coordinator", "pyproject.toml", "setup.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what a build reads."""
    target = tmp_path / "tree"
    target.mkdir()
    for name in (*NEEDED, "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source,
                target / name,
                symlinks=True,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        else:
            shutil.copy(source, target / name)
    return target


@pytest.mark.slow
def test_what_an_earlier_build_left_is_not_packed(tree: Path, tmp_path: Path) -> None:
    stale = tree / "build" / "lib" / "kafkalite" / "wire" / "long_gone.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    command = [sys.executable, "-c", "from setuptools import build_meta as b; b.build_wheel('out')"]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (wheel,) = (tree / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        all_names = set(packed.namelist())
    names = {name for name in all_names if name.endswith(".py")}
    page = {str(path.relative_to(tree)) for path in (tree / "kafkalite/ui/page").rglob("*.*")}
    assert {name for name in all_names if name.startswith("kafkalite/ui/page/")} == page
    for kind in (".pem", ".table"):
        read = {str(path.relative_to(tree)) for path in (tree / "kafkalite").glob(f"*/*{kind}")}
        assert read
        assert {name for name in all_names if name.endswith(kind)} == read
    expected = {
        f"kafkalite/{path.relative_to(tree)}"
        for room in ("wire", "log", "group_coordinator")
        for path in (tree / room).rglob("*.py")
    } | {
        str(path.relative_to(tree))
        for path in (tree / "kafkalite").rglob("*.py")
        if path.relative_to(tree).parts[1] not in ("wire", "log", "group_coordinator")
    }
    assert names == expected


def imported(path: Path) -> set[str]:
    """The packages that a module imports, at its beginning or late."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_the_testing_kit_needs_no_extra() -> None:
    """An installation without extras has all that the verbs import, pytest aside."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    there = {re.split("[^a-z0-9-]", each)[0] for each in declared} | {"pytest"}
    package = ROOT / "kafkalite"
    paths = [path for room in ("client", "control") for path in (package / room).rglob("*.py")]
    paths += [package / name for name in ("testing.py", "faults.py", "pytest_plugin.py")]
    names = set[str]().union(*map(imported, paths))
    distributions = packages_distributions()
    missing = {
        name
        for name in names - sys.stdlib_module_names - {"kafkalite"}
        if not there & {each.lower() for each in distributions[name]}
    }
    assert not missing
