"""The leader epochs: where each began, where it ended, and the checkpoint's text."""

from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.files import FILES
from kafkalite.log.leader_epochs import LeaderEpochs, check_leader_epoch, divergence
from kafkalite.wire.errors import ErrorCode, KafkaError


def test_epochs_are_found_in_the_batches(disk: Any) -> None:
    log = disk.log()
    for epoch in (0, 0, 3, 5, 5):
        disk.append(log, b"x", leader_epoch=epoch)
    entries = log.leader_epochs.entries
    assert entries == [(0, 0), (3, 2), (5, 3)]
    assert (
        disk.root / "topic-0" / "leader-epoch-checkpoint"
    ).read_text() == "0\n3\n0 0\n3 2\n5 3\n"
    log.close_files()
    (disk.root / "topic-0" / "leader-epoch-checkpoint").unlink()
    log = disk.log()
    assert log.leader_epochs.entries == entries
    assert [log.end_offset_for_epoch(epoch) for epoch in (-1, 0, 1, 3, 4, 5, 6)] == [
        (-1, -1),
        (0, 2),
        (0, 2),
        (3, 3),
        (3, 3),
        (5, 5),
        (-1, -1),
    ]


def made(tmp_path: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(tmp_path, FILES)
    for epoch, start in entries:
        epochs.assign(epoch, start)
    return epochs


def text(tmp_path: Path) -> str:
    return (tmp_path / "leader-epoch-checkpoint").read_text()


def test_a_new_epoch_is_in_the_file_at_once(tmp_path: Path) -> None:
    epochs = made(tmp_path, (0, 0), (4, 17))
    assert text(tmp_path) == "0\n2\n0 0\n4 17\n"
    assert epochs.latest == 4
    read = LeaderEpochs(tmp_path, FILES)
    assert read.latest == -1
    read.load()
    assert read.entries == [(0, 0), (4, 17)]


def test_a_known_epoch_is_not_written_again(tmp_path: Path) -> None:
    epochs = made(tmp_path, (4, 17))
    (tmp_path / "leader-epoch-checkpoint").unlink()
    epochs.assign(4, 20)
    assert not (tmp_path / "leader-epoch-checkpoint").exists()
    assert epochs.entries == [(4, 17)]


@pytest.mark.parametrize(
    ("assigned", "left"),
    [
        ((6, 30), [(1, 0), (3, 10), (5, 20), (6, 30)]),
        ((4, 30), [(1, 0), (3, 10), (4, 30)]),  # the later epoch never was
        ((6, 15), [(1, 0), (3, 10), (6, 15)]),  # the later start never was
        ((6, 10), [(1, 0), (6, 10)]),
        ((5, 12), [(1, 0), (3, 10), (5, 12)]),
        ((0, 5), [(0, 5)]),
    ],
)
def test_entries_that_contradict_a_new_one_go(
    tmp_path: Path, assigned: tuple[int, int], left: list[tuple[int, int]]
) -> None:
    epochs = made(tmp_path, (1, 0), (3, 10), (5, 20))
    epochs.assign(*assigned)
    assert epochs.entries == left


def test_the_end_of_an_epoch_is_the_start_of_the_next(tmp_path: Path) -> None:
    epochs = made(tmp_path, (2, 5), (4, 17), (7, 30))
    found = {epoch: epochs.end_offset(epoch, 50) for epoch in (-1, 0, 1, 2, 3, 4, 6, 7, 8)}
    assert found == {
        -1: (-1, -1),
        0: (0, 5),  # its records were deleted
        1: (1, 5),
        2: (2, 17),
        3: (2, 17),
        4: (4, 30),
        6: (4, 30),
        7: (7, 50),
        8: (-1, -1),
    }
    assert LeaderEpochs(tmp_path, FILES).end_offset(0, 50) == (-1, -1)


def test_the_epoch_of_an_offset(tmp_path: Path) -> None:
    epochs = made(tmp_path, (2, 5), (4, 17))
    assert [epochs.epoch_of(offset) for offset in (4, 5, 16, 17, 100)] == [-1, 2, 2, 4, 4]


@pytest.mark.parametrize(
    ("end", "left"),
    [(31, [(2, 5), (4, 17), (7, 30)]), (30, [(2, 5), (4, 17)]), (6, [(2, 5)]), (0, [])],
)
def test_epochs_behind_the_log_s_end_go(
    tmp_path: Path, end: int, left: list[tuple[int, int]]
) -> None:
    epochs = made(tmp_path, (2, 5), (4, 17), (7, 30))
    before = text(tmp_path)
    epochs.truncate_from_end(end)
    assert epochs.entries == left
    assert text(tmp_path) == before
    epochs.write()
    assert text(tmp_path).splitlines()[2:] == [f"{epoch} {start}" for epoch, start in left]


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (4, [(2, 5), (4, 17)]),
        (5, [(2, 5), (4, 17)]),
        (10, [(2, 10), (4, 17)]),
        (17, [(4, 17)]),
        (40, [(4, 40)]),
    ],
)
def test_epochs_before_the_log_s_start_go(
    tmp_path: Path, start: int, left: list[tuple[int, int]]
) -> None:
    epochs = made(tmp_path, (2, 5), (4, 17))
    epochs.truncate_from_start(start)
    assert epochs.entries == left


def test_recovery_notes_later_epochs_only_and_writes_them_in_the_end(tmp_path: Path) -> None:
    epochs = LeaderEpochs(tmp_path, FILES)
    for epoch, start in ((3, 0), (3, 5), (2, 7), (6, 9)):
        epochs.note(epoch, start)
    assert epochs.entries == [(3, 0), (6, 9)]
    assert not (tmp_path / "leader-epoch-checkpoint").exists()
    epochs.write()
    assert text(tmp_path) == "0\n2\n3 0\n6 9\n"


@pytest.mark.parametrize("damaged", ["0\n5\n0 0\n", "0\n1\nx 0\n", "0\n1\n0 0 0\n", "garbage"])
def test_a_damaged_checkpoint_counts_as_empty_and_is_replaced(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text(damaged)
    epochs = LeaderEpochs(tmp_path, FILES)
    epochs.load()
    assert epochs.entries == []
    epochs.write()
    assert text(tmp_path) == "0\n0\n"


@pytest.mark.parametrize(
    ("asked", "current", "code"),
    [
        (-1, 4, None),
        (4, 4, None),
        (3, 4, ErrorCode.FENCED_LEADER_EPOCH),
        (0, 4, ErrorCode.FENCED_LEADER_EPOCH),
        (-2, 4, ErrorCode.FENCED_LEADER_EPOCH),
        (5, 4, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_request_for_another_epoch_is_refused(
    asked: int, current: int, code: ErrorCode | None
) -> None:
    if code is None:
        check_leader_epoch(asked, current)
        return
    with pytest.raises(KafkaError) as raised:
        check_leader_epoch(asked, current)
    assert raised.value.code is code


@pytest.mark.parametrize(
    ("found", "fetch_offset", "parts"),
    [((3, 9), 9, None), ((3, 9), 10, (3, 9)), ((2, 5), 5, (2, 5))],
)
def test_a_reader_is_told_where_its_log_parts_from_ours(
    found: tuple[int, int], fetch_offset: int, parts: tuple[int, int] | None
) -> None:
    """The reader has records of epoch 3."""
    assert divergence(*found, last_fetched_epoch=3, fetch_offset=fetch_offset, log_start=2) == parts


@pytest.mark.parametrize(("found", "fetch_offset"), [((-1, -1), 9), ((3, 9), 1)])
def test_a_reader_with_records_unknown_here_is_out_of_range(
    found: tuple[int, int], fetch_offset: int
) -> None:
    with pytest.raises(KafkaError) as raised:
        divergence(*found, last_fetched_epoch=3, fetch_offset=fetch_offset, log_start=2)
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
