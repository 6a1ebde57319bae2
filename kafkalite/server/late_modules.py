"""Modules of the standard library that are loaded when they are first used.

trio imports `ssl` and `hmac` for streams that this broker does not have. They bring OpenSSL: 4 MB,
and a twentieth of the time of a start, for a broker that needs neither TLS nor a login.
`importlib.util.LazyLoader` does not help, as an import of what is there already looks at its
`__spec__`, for which it loads the module.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from threading import RLock
from types import ModuleType
from typing import Any, Final

OPENSSL: Final = ("ssl", "hmac")


class _LateModule(ModuleType):
    """Stands for a module, which is loaded when an attribute is asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = importlib.util.find_spec(name)
        self._loading = RLock()

    def __getattr__(self, name: str) -> Any:
        with self._loading:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(importlib.import_module(self.__name__), name)


def load_late(names: Iterable[str]) -> None:
    """Let modules be loaded when they are first used, from now on, unless they are there."""
    for name in names:
        if name not in sys.modules:
            sys.modules[name] = _LateModule(name)
