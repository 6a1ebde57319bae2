"""Answers to a Fetch: cut short, from the middle of a batch, empty, or something else."""

from typing import Any

import pytest

from kafkalite.spark import network_reader
from kafkalite.spark.client import Fetched
from kafkalite.spark.errors import BrokerError, DamagedLog, OffsetOutOfRange
from kafkalite.wire.record_batch import Record, build_batch

PARTITION = ("t", 0)
BATCHES = [
    build_batch([Record(value=b"%d" % (base + i)) for i in range(5)], base_offset=base)
    for base in range(0, 20, 5)
]


class Answers:
    """Stands for a client: answers a Fetch by its offset."""

    def __init__(self, by_offset: dict[int, bytes]) -> None:
        self._by_offset = by_offset

    def fetch(self, _: Any, offset: int, **options: Any) -> Fetched:
        return Fetched(memoryview(self._by_offset[offset]), 20, 20, 0, [])

    def fetch_ahead(self, _: Any, offset: int, **options: Any) -> None:
        assert offset in self._by_offset


def read(by_offset: dict[int, bytes], start: int = 0, end: int = 20) -> list[int]:
    client: Any = Answers(by_offset)
    found = network_reader.fetch_partition(client, PARTITION, start, end)
    return [int(value) for rows in found for value in rows.column("value").to_pylist()]


def test_answers_that_end_within_a_batch() -> None:
    first, second = BATCHES[0] + BATCHES[1] + BATCHES[2][:70], BATCHES[2] + BATCHES[3] + b"\0" * 9
    assert read({0: first, 10: second}) == list(range(20))
    assert read({3: first, 10: second}, 3, 12) == list(range(3, 12))


def test_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OffsetOutOfRange, match="t-0 ends at offset 20, before 25"):
        read({0: b"".join(BATCHES), 20: b""}, 0, 25)
    monkeypatch.setattr(network_reader, "PATIENCE", -1.0)
    with pytest.raises(BrokerError, match="t-0: nothing came from offset 5 on"):
        read({0: BATCHES[0], 5: b""})


def test_what_comes_is_no_batch() -> None:
    with pytest.raises(DamagedLog, match="t-0: no batch came for offset 0, but magic 1, not 2"):
        read({0: BATCHES[0][:16] + b"\1" + BATCHES[0][17:]})
    with pytest.raises(DamagedLog, match="checksum of the batch at offset 5 does not match"):
        read({0: BATCHES[0] + BATCHES[1][:-1] + b"x"})
