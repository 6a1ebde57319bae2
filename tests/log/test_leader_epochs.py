"""The leader epochs: where each began, where it ended, and the checkpoint's text."""

from typing import Any


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
