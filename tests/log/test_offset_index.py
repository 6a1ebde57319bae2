"""The offset index: bytes, and the position from which on to look."""

from typing import Any

from kafkalite.log.config import LogConfig


def test_time_index_and_offset_index_are_kafkas(disk: Any) -> None:
    """Bytes by hand: one entry per interval, `relative offset, position` and `timestamp,
    offset`."""
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for i in range(3):
        disk.append(log, b"v", timestamp=disk.now_ms + i)
    size = log.size_bytes // 3
    log.close()
    directory = disk.root / "topic-0"
    entries = (directory / f"{0:020d}.index").read_bytes()
    assert entries == b"".join(
        offset.to_bytes(4) + (offset * size).to_bytes(4) for offset in (1, 2)
    )
    times = (directory / f"{0:020d}.timeindex").read_bytes()
    assert times == b"".join(
        (disk.now_ms + offset).to_bytes(8) + offset.to_bytes(4) for offset in (1, 2)
    )
