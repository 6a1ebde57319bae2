"""Programs in C, built at first use with the machine's compiler, and kept in the cache."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from conformance.harness.cache import cache_directory, locked

HERE = Path(__file__).parent


class LoadFailed(Exception):
    """A generator ended early, or could not be built; the message says why."""


@functools.cache
def compiled(name: str, *libraries: str) -> Path:
    """The program of `<name>.c`."""
    source, built = HERE / f"{name}.c", cache_directory() / name
    with locked(cache_directory() / f"{name}.lock"):
        if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
            compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
            if compiler is None:
                raise LoadFailed("a C compiler is needed (Debian, Ubuntu: apt-get install gcc)")
            with tempfile.TemporaryDirectory() as directory:
                fresh = Path(directory) / name
                command = [compiler, "-O2", "-std=gnu11", "-o", fresh, source, *libraries]
                subprocess.run(command, check=True)
                shutil.move(fresh, built)
    return built
