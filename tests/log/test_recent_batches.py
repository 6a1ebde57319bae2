"""The positions of the last batches, as long as there is no hole between them."""

from kafkalite.log.recent_batches import RecentBatches

SIZE = 100


def filled(count: int, records: int = 2) -> RecentBatches:
    recent = RecentBatches()
    for i in range(count):
        recent.note(i * records, (i + 1) * records, i * SIZE)
    return recent


def test_each_offset_is_in_its_batch() -> None:
    recent = filled(3)
    assert [recent.index_of(offset) for offset in range(-1, 8)] == [-1, 0, 0, 1, 1, 2, 2, -1, -1]
    assert [recent.end_of(i, 270) for i in range(3)] == [100, 200, 270]
    assert list(recent.positions) == [0, 100, 200]


def test_a_search_begins_before_the_offset() -> None:
    recent = filled(3)
    assert [recent.position_before(offset) for offset in (-1, 0, 3, 5, 100)] == [
        None,
        0,
        100,
        200,
        200,
    ]


def test_a_hole_forgets_those_before_it() -> None:
    recent = filled(3)
    recent.note(9, 10, 300)
    assert recent.index_of(5) == recent.index_of(8) == -1
    assert recent.index_of(9) == 0
    assert recent.position_before(8) is None
    recent.note(10, 12, 400)
    assert recent.positions[recent.index_of(11)] == 400


def test_only_the_last_are_remembered_and_found() -> None:
    count = 10_000
    recent = filled(count, records=1)
    assert 512 <= len(recent.positions) <= 1024
    first = count - len(recent.positions)
    assert recent.index_of(first - 1) == -1
    for offset in (first, first + 1, count - 1):
        assert recent.positions[recent.index_of(offset)] == offset * SIZE


def test_nothing_is_found_after_forgetting() -> None:
    recent = filled(3)
    recent.forget()
    assert (recent.index_of(0), recent.position_before(5)) == (-1, None)
    recent.note(50, 51, 0)
    assert recent.index_of(50) == 0
