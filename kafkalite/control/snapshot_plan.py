"""A snapshot of a cluster is planned: each log is taken up to where it ended at one moment.

The moment is one turn of the loop, so what clients did before it is there, and nothing that they
did after it: no offset is committed beyond the records, no transaction is half in it. To look at
thousands of logs takes longer than others can wait. So each is looked at by itself first, with
others' requests in between. Those that changed meanwhile are looked at again, until they are so few
that the last look is brief; if they never are, all that is left is only measured at the moment, and
opening the copy reads what closing a log would have written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafkalite.broker import Broker
from kafkalite.log.checkpoints import TopicPartition
from kafkalite.log.files import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from kafkalite.log.log import Log
from kafkalite.log.manager import LogManager
from kafkalite.requests.slices import Steps
from kafkalite.requests.topic_names import METADATA_TOPIC

_MOST_COPIED_BYTES: Final = 1 << 20
# Logs that are brought to rest in the one turn: each takes a fifth of a millisecond.
_FEW: Final = 8
_MOST_LOOKS: Final = 5


class Cut(NamedTuple):
    """One log as it was at a moment: where its last segment ends, in bytes of each file."""

    log: Log
    directory: Path
    is_offline: bool
    removed_count: int
    base_offset: int
    end_offset: int
    first_offset: int
    start_offset: int
    high_watermark: int
    recovery_point: int
    bytes: int
    # Entries of the offset, the time and the transaction index.
    entries: tuple[int, int, int]
    # Snapshots of the metadata, which belong to no segment.
    checkpoints: frozenset[str]

    @property
    def still_holds(self) -> bool:
        """True while the log is as it was."""
        log = self.log
        return (
            log.log_end_offset == self.end_offset
            and log.log_start_offset == self.start_offset
            and self.has_its_files
        )

    @property
    def has_its_files(self) -> bool:
        """True while all that it had is where it was: it may have more by now."""
        log = self.log
        return (
            log.segments.removed_count == self.removed_count
            and log.directory is self.directory
            and log.log_end_offset >= self.end_offset
            and (log.offline_reason is None) is not self.is_offline
        )


class Plan(NamedTuple):
    """A snapshot that is to be made. `clock_ms` is the cluster's time, `directories` are its data
    directories, the first one with the metadata.
    """

    clock_ms: int
    directories: list[Path]
    cuts: Mapping[TopicPartition, Cut]

    def checkpoints(self) -> Iterator[tuple[str, dict[TopicPartition, int]]]:
        """The files with the offsets of all logs: their names and what is in them."""
        cuts = self.cuts.items()
        yield RECOVERY_POINT_CHECKPOINT, {key: cut.recovery_point for key, cut in cuts}
        # The name of the first segment tells it, as in Kafka, unless the log begins within it.
        starts = {key: cut.start_offset for key, cut in cuts if cut.start_offset > cut.first_offset}
        yield LOG_START_OFFSET_CHECKPOINT, starts
        yield HIGH_WATERMARK_CHECKPOINT, {key: cut.high_watermark for key, cut in cuts}


def planning(broker: Broker) -> Steps[Plan]:
    """Say what is to be taken; the last step is the moment. Raises KafkaError and OSError."""
    manager = broker.services.logs.manager
    cuts: dict[TopicPartition, Cut] = {}
    changed = _changed(manager, cuts)
    for _ in range(_MOST_LOOKS - 1):
        if len(changed) <= _FEW:
            break
        yield
        for log in changed:
            if not _is_gone(manager, log):
                cuts[log.topic, log.partition] = _at_rest(log)
            yield
        changed = _changed(manager, cuts)
    at_rest = len(changed) <= _FEW
    for log in changed:
        cuts[log.topic, log.partition] = _at_rest(log) if at_rest else _cut(log)
    now_ms = broker.services.now_ms()
    return Plan(now_ms, [each.path for each in manager.directories], cuts)


def _changed(manager: LogManager, cuts: dict[TopicPartition, Cut]) -> list[Log]:
    """The logs without a cut that holds. Forgets the cuts of logs that are gone."""
    changed: list[Log] = []
    count = 0
    for directory in manager.directories:
        count += len(directory.logs)
        for key, log in directory.logs.items():
            cut = cuts.get(key)
            if cut is None or cut.log is not log or not cut.still_holds:
                changed.append(log)
    if len(cuts) + len(changed) > count:
        there = {key for directory in manager.directories for key in directory.logs}
        for key in [key for key in cuts if key not in there]:
            del cuts[key]
    return changed


def _is_gone(manager: LogManager, log: Log) -> bool:
    """True if a log was deleted, or moved to another directory."""
    return manager.get(log.topic, log.partition) is not log


def _at_rest(log: Log) -> Cut:
    """The cut of a log that is as after a close. Raises KafkaError."""
    if log.offline_reason is None and log.segments.active.size > _MOST_COPIED_BYTES:
        try:
            log.roll()
        except OSError as error:
            raise log.storage_error(error) from error
    log.settle()
    return _cut(log)


def _cut(log: Log) -> Cut:
    active = log.segments.active
    indexes = active.offset_index, active.time_index, active.transaction_index
    checkpoints: frozenset[str] = frozenset()
    if log.topic == METADATA_TOPIC:
        checkpoints = frozenset(path.name for path in log.directory.glob("*.checkpoint"))
    return Cut(
        log,
        log.directory,
        log.offline_reason is not None,
        log.segments.removed_count,
        active.base_offset,
        log.log_end_offset,
        log.segments.first.base_offset,
        log.log_start_offset,
        log.high_watermark,
        log.recovery_point,
        active.size,
        (indexes[0].size_bytes, indexes[1].size_bytes, indexes[2].size_bytes),
        checkpoints,
    )
