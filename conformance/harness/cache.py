"""The cache: what is brought once from a package index, and kept for every later run.

Several runs may want the same thing at once, so each entry is made under a file lock in a
directory beside its place, and renamed into place when it is whole: what is there is complete.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/kafkalite`, or `~/.cache/kafkalite`; made when it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "kafkalite"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock file: one process at a time, released by the kernel should it die."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The cache's directory `name`; when it is not there, `make(directory)` fills it, once."""
    place = cache_directory() / name
    if place.is_dir():
        return place
    with locked(cache_directory() / f"{name}.lock"):
        if place.is_dir():  # another run made it while this one waited
            return place
        unfinished = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache_directory()))
        try:
            make(unfinished)
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    return place
