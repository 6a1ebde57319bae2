"""The modules of share and streams groups, which are imported when the first such group is met.

The import takes some 50 ms, so that a thread does it. Requests have it done before they are handled
(kafkalite/apis). A coordinator that loads a partition has it done at the first record of such a
group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from functools import partial
from importlib import import_module
from typing import Final

from kafkalite.group_coordinator.state_log import ReplayedMarker, ReplayedRecord
from kafkalite.wire.messages.stored import CONSUMER_OFFSETS

Loading = Generator[Callable[[], None] | None, None, None]
"""Steps that load a partition; a function that one of them yields takes long."""

_KIND_BYTES: Final = 2
_ROOM: Final = "kafkalite.group_coordinator"
_MODULES: Final = {
    "share": ("share_api", "share_protocol", "share_states"),
    "streams": ("streams_api", "streams_protocol"),
}
_MODULES_OF_KIND: Final = {
    kind: tuple(f"{_ROOM}.{module}" for module in modules)
    for protocol, modules in _MODULES.items()
    for kind, name in CONSUMER_OFFSETS.items()
    if name.startswith(protocol)
}


def to_import(entry: ReplayedRecord | ReplayedMarker) -> Callable[[], None] | None:
    """The function that imports what a record needs; None if all of it is here."""
    if isinstance(entry, ReplayedMarker):
        return None
    modules = _MODULES_OF_KIND.get(int.from_bytes(entry.key[:_KIND_BYTES], "big"))
    if modules is None or all(module in sys.modules for module in modules):
        return None
    return partial(_import, modules)


def _import(modules: tuple[str, ...]) -> None:
    for module in modules:
        import_module(module)
