"""Builds: pure Python, or with the modules of [tool.kafkalite.compiled] in machine code.

Everything else about the package stands in pyproject.toml. With KAFKALITE_COMPILED=1 in the
environment a wheel has the modules of that table twice: as they are, and compiled, which Python
then prefers. mypyc compiles them, or Cython those that have a file of C types beside them. An
editable install is always pure Python.
"""

import contextlib
import os
import shutil
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPILED = os.environ.get("KAFKALITE_COMPILED", "0") not in ("", "0")
CACHE = ROOT / "build" / "mypy_cache"
# mypyc looks at msgspec's types: a Struct has keywords that an ordinary class has not.
TYPES = [each for each in PYPROJECT["project"]["dependencies"] if each.startswith("msgspec")]
COMPILERS = ["mypy[mypyc]>=2.4,<3", "cython>=3.1,<4", *TYPES]


class FreshBuild(build_py):
    """setuptools copies over what an earlier build left, and packs all that lies there."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


def typed_tree() -> Path:
    """A copy of the source in the folders that it is imported by: mypyc knows a module by its path.

    In the repository kafkalite/wire and its sisters are links, and a source distribution has none.
    """
    tree = ROOT / "build" / "typed"
    shutil.rmtree(tree, ignore_errors=True)
    folders = PYPROJECT["tool"]["setuptools"]["package-dir"]
    for package in PYPROJECT["tool"]["setuptools"]["packages"]:
        top = max((name for name in folders if f"{package}.".startswith(f"{name}.")), key=len)
        source = ROOT / (folders[top] + package[len(top) :].replace(".", "/"))
        target = tree / package.replace(".", "/")
        target.mkdir(parents=True)
        for file in (*source.glob("*.py*"), *source.glob("*.pxd")):
            shutil.copy(file, target)
    # Without these an import is of a type that mypy forgets when it goes on from its cache.
    shutil.copytree(ROOT / "typings", tree, dirs_exist_ok=True)
    return tree


def row_codecs() -> list[str]:
    """Parsers and builders of rows as Cython source, one module for each API: their paths."""
    sys.path.insert(0, str(Path.cwd()))
    from kafkalite.wire.compile_c import APIS, machine_code

    paths = [f"kafkalite/wire/_rows_{api.name.lower()}.pyx" for api in APIS]
    for api, path in zip(APIS, paths, strict=True):
        Path(path).write_text(machine_code(api))
    return paths


def extensions() -> list[Extension]:
    """The compiled modules. setuptools also runs this file to learn what a build requires."""
    if not COMPILED or not {"bdist_wheel", "build_ext"} & set(sys.argv):
        return []
    from Cython.Build import cythonize
    from mypyc.build import mypycify

    modules = PYPROJECT["tool"]["kafkalite"]["compiled"]["modules"]
    with contextlib.chdir(typed_tree()):
        files = [Path(f"{name.replace('.', '/')}.py") for name in modules]
        typed = [str(file) for file in files if file.with_suffix(".pxd").exists()]
        paths = [str(file) for file in files if str(file) not in typed]
        # What `make lint` checks is not checked again: here a library may be missing.
        options = ["--config-file=", "--ignore-missing-imports", f"--cache-dir={CACHE}"]
        by_mypyc = mypycify(
            [*options, *paths],
            opt_level="3",
            debug_level="0",
            target_dir=str(ROOT / "build" / "mypyc"),
            group_name="kafkalite",
            multi_file=True,
        )
        by_cython = cythonize(
            typed,
            build_dir=str(ROOT / "build" / "cython"),
            compiler_directives={
                "language_level": 3,
                "annotation_typing": False,
                "wraparound": False,  # no index is negative
            },
            quiet=True,
        )
        for each in cythonize(row_codecs(), build_dir=str(ROOT / "build" / "cython"), quiet=True):
            # As quick as by -O3, in half of the memory.
            each.extra_compile_args += ["-Os", "-g0"]
            by_cython.append(each)
    for each in by_mypyc:
        # Calls among its functions need no table of names: nobody else calls them by name.
        each.extra_compile_args.append("-fvisibility=hidden")
    return [*by_mypyc, *by_cython]


def options() -> dict[str, dict[str, str]]:
    """A compiled build leaves its notes in a place of its own: an editable install may be made at
    the same time."""
    if not COMPILED:
        return {}
    (ROOT / "build").mkdir(exist_ok=True)
    return {"egg_info": {"egg_base": str(ROOT / "build")}}


setup(
    cmdclass={"build_py": FreshBuild},
    ext_modules=extensions(),
    options=options(),
    setup_requires=COMPILERS if COMPILED else [],
)
