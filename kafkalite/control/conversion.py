"""Plain data into typed values, from any thread.

msgspec looks at a struct when it is used for the first time. Two threads that do so at once crash
the process, so the first look is taken under a lock.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

_LOCK: Final = Lock()
_known: set[Any] = set()


def converted(value: object, to: type[T], *, strict: bool = True, str_keys: bool = False) -> T:
    """The value as `to`; numbers may be text unless `strict`. Raises msgspec.ValidationError."""
    _know(to)
    return msgspec.convert(value, to, strict=strict, str_keys=str_keys)


def decoded(data: bytes, to: Any) -> Any:
    """JSON as `to`. Raises msgspec.DecodeError."""
    _know(to)
    return msgspec.json.decode(data, type=to)


def _know(to: Any) -> None:
    if to not in _known:
        with _LOCK:
            msgspec.json.Decoder(to)
            _known.add(to)
