"""Records of a message that came over a connection: they are in memory."""

from __future__ import annotations

from typing import cast

from kafkalite.wire.fields import InMemory, Records


def in_memory(records: Records | None) -> InMemory:
    """The records as bytes or a view of them; none are as good as null ones."""
    if records is None:
        return b""
    assert isinstance(records, (bytes, memoryview))
    return cast(InMemory, records)
