"""Records that came over a connection are in memory; none are as good as null ones."""

from __future__ import annotations

from kafkalite.peers.in_memory import in_memory


def test_records_are_the_same_bytes() -> None:
    data = b"records"
    view = memoryview(data)
    assert in_memory(data) is data
    assert in_memory(view) is view
    assert in_memory(None) == b""
