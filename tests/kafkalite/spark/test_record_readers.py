"""The two ways to a topic's records, by its broker and by its files, tell the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalite.spark import record_readers
from kafkalite.spark.data_directory import Bounds, Isolation
from kafkalite.spark.errors import UnknownTopic
from kafkalite.spark.options import read_options
from kafkalite.spark.record_readers import Access, DirectoryAccess, NetworkAccess
from kafkalite.spark.replicas import Places, find_replicas
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from tests.kafkalite.spark.filled_topic import BATCH, BATCHES, PARTITION


def test_the_next_reader_goes_on_with_the_connections_of_the_last(
    bootstrap: str, sent: list[ApiKey]
) -> None:
    asked = read_options({"kafka.bootstrap.servers": bootstrap, "subscribe": "t"}, streaming=False)
    options = replace(asked, fetch_bytes=len(BATCH) * 2)

    def read(way: NetworkAccess, batches: int) -> list[int]:
        found: list[int] = []
        for rows in way.read(PARTITION, 0, 5 * BATCHES, options):
            found += rows.column("offset").to_pylist()
            batches -= 1
            if not batches:
                break
        return found

    first = NetworkAccess(bootstrap)
    assert read(first, BATCHES) == list(range(5 * BATCHES))
    first.close()
    del sent[:]
    second = NetworkAccess(bootstrap)
    assert read(second, 1) == list(range(10))  # and leaves with an answer on its way
    assert set(sent) == {ApiKey.FETCH}
    second.close()
    third, other = NetworkAccess(bootstrap), NetworkAccess(bootstrap)
    assert read(third, BATCHES) == read(other, BATCHES) == list(range(5 * BATCHES))
    third.close()
    other.close()


TIMES = (1_000_000, 2_000_000, 3_000_000)


@pytest.fixture(params=["network", "files"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Access]:
    """A topic with records in its first partition, at three times; the broker has stopped for the
    files.
    """
    with broker(data_dir=tmp_path) as b:
        b.create_topic("t", partitions=2, configs={"retention.ms": -1})
        b.create_topic("u", configs={"retention.ms": -1})
        for time in TIMES:
            b.produce("t", "v", timestamp=time)
        b.lose("t", 0, 1)
        b.group("g").seek("t", 1)  # which makes an internal topic
        if request.param == "network":
            access = NetworkAccess(b.bootstrap)
            yield access
            access.close()
            return
    yield DirectoryAccess((tmp_path,))


def test_partitions_are_found_without_internal_ones(way: Access) -> None:
    assert way.partitions(None) == [("t", 0), ("t", 1), ("u", 0)]
    assert way.partitions(["t"]) == [("t", 0), ("t", 1)]
    with pytest.raises(UnknownTopic, match="there is no topic 'x'"):
        way.partitions(["t", "x"])


def test_a_task_looks_for_its_own_partition(way: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among thousands, each of which has a task."""
    asked: list[object] = []

    def noted(paths: tuple[Path, ...], only: object = None) -> Places:
        asked.append(only)
        return find_replicas(paths, PARTITION)

    monkeypatch.setattr(record_readers, "find_replicas", noted)
    given = {"kafka.bootstrap.servers": "unused:1", "subscribe": "t"}
    options = read_options(given, streaming=False)
    for _ in range(2):
        assert sum(each.num_rows for each in way.read(PARTITION, 1, 3, options)) == 2
    assert asked == ([PARTITION] if isinstance(way, DirectoryAccess) else [])


def test_bounds_leave_out_what_is_not_there(way: Access) -> None:
    asked = [("t", 0), ("t", 1), ("t", 7), ("x", 0)]
    assert way.bounds(asked, Isolation.READ_COMMITTED) == {
        ("t", 0): Bounds(1, 3),
        ("t", 1): Bounds(0, 0),
    }
    assert way.bounds([], Isolation.READ_UNCOMMITTED) == {}


def test_bounds_leave_out_what_is_deleted_meanwhile(
    way: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted after it was looked for: asked about, and not there."""
    there = way.partitions(["t"])
    gone = ("x", 0)
    if isinstance(way, NetworkAccess):
        looks = iter([[*there, gone], there])
        monkeypatch.setattr(way, "_there", lambda _: next(looks))
    else:
        places = {**way._look(), gone: way._look()["t", 0]}
        monkeypatch.setattr(way, "_look", lambda: places)
    found = way.bounds([*there, gone], Isolation.READ_UNCOMMITTED)
    assert found == {("t", 0): Bounds(1, 3), ("t", 1): Bounds(0, 0)}


def test_offsets_are_found_by_time(way: Access) -> None:
    def offset(time: int) -> int:
        return way.offsets_for_times({("t", 0): time})[("t", 0)]

    assert [offset(time) for time in (0, 2_000_000, 2_000_001, 3_000_001)] == [1, 1, 2, -1]
    assert way.offsets_for_times({("t", 1): 0, ("u", 0): 0}) == {("t", 1): -1, ("u", 0): -1}


def test_records_are_read_from_one_offset_to_another(way: Access) -> None:
    given = {"kafka.bootstrap.servers": "unused:1", "subscribe": "t"}
    options = read_options(given, streaming=False)
    for start, end in ((1, 3), (2, 3), (1, 2)):
        found = [
            offset
            for rows in way.read(("t", 0), start, end, options)
            for offset in rows.column("offset").to_pylist()
        ]
        assert found == list(range(start, end))
