"""Neighbouring segments become one, which takes their place."""

from typing import Any

from kafkalite.log.segment_replacement import group_by_size
from tests.log.compacted import COMPACT, put


def test_segments_are_grouped_by_size(disk: Any) -> None:
    log = disk.log(config=COMPACT)
    for i in range(30):
        put(disk, log, (b"a", b"%d" % i))
    segments = list(log.segments)[:-1]
    total = sum(segment.size for segment in segments)
    assert group_by_size(segments, total, 10**6, 30) == [segments]
    assert group_by_size(segments, total - 1, 10**6, 30) == [segments[:-1], segments[-1:]]
    assert group_by_size(segments, 1, 10**6, 30) == [[segment] for segment in segments]
    assert group_by_size(segments, total, 8, 30) != [segments]
    assert group_by_size(segments, total, 10**6, 2**31 + 1) == [segments[:-1], segments[-1:]]
