"""The leader epochs of a log, and the offset at which each began.

Clients and followers find out by them that a log was truncated. They are kept in memory and in the
file `leader-epoch-checkpoint` (`epoch start-offset` a line), which is written before the first
batch of a new epoch, and flushed with it: recovery looks only at batches that are not. Source:
Kafka's LeaderEpochFileCache; KIP-101, KIP-279, KIP-320.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import Final

from kafkalite.log.checkpoints import CorruptCheckpoint, read_lines, write_lines
from kafkalite.log.files import LEADER_EPOCH_CHECKPOINT, Files
from kafkalite.wire.errors import ErrorCode, KafkaError

UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1


def check_leader_epoch(asked: int, current: int) -> None:
    """Refuse a request for another leader epoch than the current one; -1 asks for any (KIP-320).

    Raises KafkaError: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
    """
    if asked != current and asked != UNDEFINED_EPOCH:
        is_old = asked < current
        raise KafkaError(
            ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
        )


def divergence(
    epoch: int, end_offset: int, *, last_fetched_epoch: int, fetch_offset: int, log_start: int
) -> tuple[int, int] | None:
    """The epoch and end offset where a reader's log parts from ours; None if it does not (KIP-595).

    The reader has records of `last_fetched_epoch` up to `fetch_offset`. Our log has `epoch`, the
    largest one up to that, which ends at `end_offset`. Raises KafkaError(OFFSET_OUT_OF_RANGE).
    """
    if epoch == UNDEFINED_EPOCH or fetch_offset < log_start:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch == last_fetched_epoch and end_offset >= fetch_offset:
        return None
    return epoch, end_offset


class LeaderEpochs:
    """(epoch, start offset) pairs, both ascending."""

    def __init__(self, directory: Path, files: Files) -> None:
        self._directory = directory
        self._files = files
        self._epochs: list[tuple[int, int]] = []
        self._dirty = False
        self._unsynced_count = 0

    def load(self) -> None:
        """Read the checkpoint. A damaged one counts as empty: the batches have the epochs."""
        try:
            lines = read_lines(self._files, self._directory / LEADER_EPOCH_CHECKPOINT)
            self._epochs = sorted((int(epoch), int(offset)) for epoch, offset in lines)
        except (CorruptCheckpoint, ValueError):
            self._epochs = []
            self._dirty = True

    def moved_to(self, directory: Path) -> None:
        self._directory = directory

    @property
    def entries(self) -> list[tuple[int, int]]:
        return list(self._epochs)

    @property
    def latest(self) -> int:
        """The latest epoch, -1 if there is none yet."""
        return self._epochs[-1][0] if self._epochs else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that `epoch` began at `start_offset`, unless it is known. Raises OSError.

        Entries that contradict it (a later epoch, or a later start) are removed.
        """
        if self._epochs:
            latest, latest_start = self._epochs[-1]
            if epoch == latest and start_offset >= latest_start:
                return
        while self._epochs and (
            self._epochs[-1][0] >= epoch or self._epochs[-1][1] >= start_offset
        ):
            self._epochs.pop()
        self._epochs.append((epoch, start_offset))
        self._dirty = True
        self.write()

    def note(self, epoch: int, start_offset: int) -> None:
        """Note an epoch that recovery finds in a batch, if it is later; `write` comes later."""
        if epoch > self.latest:
            self._epochs.append((epoch, start_offset))
            self._dirty = True

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest known epoch up to `epoch`; (-1, -1) if unknown."""
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self.latest:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        following = bisect_right(self._epochs, (epoch, 2**63))
        if following == 0:  # older than all: its records were deleted
            return epoch, self._epochs[0][1]
        return self._epochs[following - 1][0], self._epochs[following][1]

    def epoch_of(self, offset: int) -> int:
        """The epoch in which `offset` was written; -1 if it is before the first known one."""
        found = UNDEFINED_EPOCH
        for epoch, start in self._epochs:
            if start > offset:
                break
            found = epoch
        return found

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that begin at or after `end_offset`, until `write` in memory only."""
        while self._epochs and self._epochs[-1][1] >= end_offset:
            self._epochs.pop()
            self._dirty = True

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended before `start_offset`; its own epoch begins there now."""
        ended = bisect_right([start for _, start in self._epochs], start_offset)
        if ended and (ended > 1 or self._epochs[0][1] < start_offset):
            self._epochs[:ended] = [(self._epochs[ended - 1][0], start_offset)]
            self._dirty = True

    def write(self, *, sync: bool = False) -> None:
        """Write the checkpoint if something changed. Raises OSError.

        It is not flushed by default: recovery finds lost epochs in batches that are not, either.
        """
        if self._dirty:
            write_lines(
                self._files,
                self._directory / LEADER_EPOCH_CHECKPOINT,
                (f"{epoch} {start}" for epoch, start in self._epochs),
                sync=sync,
            )
            self._dirty = False
            self._unsynced_count = 0 if sync else self._unsynced_count + 1

    @property
    def unsynced(self) -> tuple[Path, int] | None:
        """The file, and a number for `synced`, if what was written to it may not be on the disk."""
        if not self._unsynced_count:
            return None
        return self._directory / LEADER_EPOCH_CHECKPOINT, self._unsynced_count

    def synced(self, number: int) -> None:
        """Take note that it was flushed, unless it was written again meanwhile."""
        if number == self._unsynced_count:
            self._unsynced_count = 0
