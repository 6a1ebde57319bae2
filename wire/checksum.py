"""CRC-32C by the extension module of the `crc32c` package.

The package itself looks up its own version when it is imported. For that it imports email, csv and
zipfile, and reads the names of all installed packages: a twentieth of the CPU time in which a
broker starts. So the extension is loaded alone.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Final, Protocol


class _Crc32c(Protocol):
    def __call__(self, data: bytes | bytearray | memoryview, value: int = 0, /) -> int: ...


def _function() -> _Crc32c:
    package = find_spec("crc32c")
    where = None if package is None else package.submodule_search_locations
    found = PathFinder.find_spec("crc32c._crc32c", where)
    if found is None or found.loader is None:
        # Another build of the package, or none: it is slower, or says what is missing.
        from crc32c import crc32c as function

        return function
    module = module_from_spec(found)
    found.loader.exec_module(module)
    by_extension: _Crc32c = module.crc32c
    return by_extension


crc32c: Final[_Crc32c] = _function()
