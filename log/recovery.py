"""A log's directory is loaded, in any state that the last broker left it in.

1. Files on their way out or in are put right. `.deleted` and `.cleaned` are removed. A `.swap` is
  complete: the segments that it replaces are removed, and it takes their place.
2. After an unclean shutdown, segments after the recovery point are scanned: every checksum, up to
  the first batch that is torn or wrong. The log ends there. The indexes are rebuilt on the way. An
  earlier segment is scanned if it has no sound index, alone: what follows it is on the disk.
3. Leader epochs after the log's end are removed. The producers' state is that of the last
  snapshot, brought forward over the batches after it.

So opening takes time for the unflushed tail, and for one segment's headers for the producers.
Source: Kafka's LogLoader, LogSegment.recover, UnifiedLog.rebuildProducerState.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    Files,
    parse_segment_file,
    segment_file,
    without_future,
)
from kafkalite.log.leader_epochs import LeaderEpochs
from kafkalite.log.loggers import logger_of
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_snapshots import ProducerSnapshots
from kafkalite.log.producer_state import ProducerState
from kafkalite.log.segment import LogSegment
from kafkalite.log.segments import Segments
from kafkalite.wire.errors import KafkaError

_logger = logger_of(__name__)


class LoadedLog(Struct):
    """A log's parts and offsets, as they were found in its directory."""

    segments: Segments
    leader_epochs: LeaderEpochs
    producer_state: ProducerState
    snapshots: ProducerSnapshots
    log_start_offset: int
    log_end_offset: int
    recovery_point: int


class LogLoader:
    """Loads one log. Methods raise OSError, and KafkaError(CORRUPT_MESSAGE) for damaged files."""

    def __init__(
        self,
        directory: Path,
        open_files: OpenFiles,
        *,
        now_ms: int,
        index_interval_bytes: int,
        log_start_offset: int,
        recovery_point: int | None,
        clean_shutdown: bool,
        cleaned_up_to: int = 0,
    ) -> None:
        """`recovery_point` None: unknown. Below `cleaned_up_to` the log was compacted."""
        self._directory = directory
        self._open_files = open_files
        self._files: Files = open_files.files
        self._now_ms = now_ms
        self._index_interval_bytes = index_interval_bytes
        self._log_start_offset = log_start_offset
        self._recovery_point = recovery_point or 0
        self._knows_recovery_point = recovery_point is not None
        self._clean_shutdown = clean_shutdown
        self._cleaned_up_to = cleaned_up_to
        self._is_compacted = False  # True if the segment recovered last has gaps in it
        self._segments = Segments()
        self._epochs = LeaderEpochs(directory, self._files)
        self._state = ProducerState(without_future(directory.name))
        self._snapshots = ProducerSnapshots(directory, self._files)

    def load(self) -> LoadedLog:
        """Put the directory in order and load it."""
        names = self._names()
        if names:
            names = self._finish_interrupted(names)
            self._epochs.load()
        self._open_segments(names)
        self._snapshots = ProducerSnapshots(self._directory, self._files, names)
        to_recover = self._to_recover(set(names))
        if to_recover:
            log_end_offset = self._recover(to_recover)
        else:
            log_end_offset = self._segments.active.next_offset() if len(self._segments) else 0
        if not len(self._segments) or log_end_offset < self._log_start_offset:
            log_end_offset = self._start_again()
        first_offset = self._segments.first.base_offset
        log_start_offset = max(self._log_start_offset, first_offset)
        self._epochs.truncate_from_end(log_end_offset)
        self._epochs.truncate_from_start(self._log_start_offset)
        if not to_recover:
            self._load_producers(first_offset, log_end_offset)
        self._state.end_offset = max(self._state.end_offset, log_end_offset)
        recovery_point = log_end_offset
        if not self._clean_shutdown:
            recovery_point = min(self._recovery_point, log_end_offset)
        return LoadedLog(
            self._segments,
            self._epochs,
            self._state,
            self._snapshots,
            log_start_offset,
            log_end_offset,
            recovery_point,
        )

    def _names(self) -> list[str]:
        """The names in the directory, which is made if it is not there."""
        try:
            return self._files.names(self._directory)
        except FileNotFoundError:
            self._files.make_directory(self._directory)
            return []

    # -- 1. files on their way

    def _finish_interrupted(self, names: list[str]) -> list[str]:
        """Remove half-done files, finish complete ones; returns the names that are left."""
        parsed = {name: parse_segment_file(name) for name in names}
        second = {name: p[2] for name, p in parsed.items() if p is not None and p[2]}
        # Kafka's names for snapshots on their way out are the same.
        if not second:
            return names
        offsets = {name: p[0] for name, p in parsed.items() if p is not None}
        cleaned = [offsets[name] for name, s in second.items() if s == CLEANED_SUFFIX]
        swaps = {name for name, s in second.items() if s == SWAP_SUFFIX}
        for name, suffix in second.items():
            # A swap beside a .cleaned of an earlier offset is part of a replacement that had only
            # begun.
            half_done = name in swaps and cleaned and offsets[name] >= min(cleaned)
            if suffix in (DELETED_SUFFIX, CLEANED_SUFFIX) or half_done:
                self._files.unlink(self._directory / name)
                swaps.discard(name)
        self._finish_swap(names, swaps, offsets)
        self._files.sync_directory(self._directory)
        return self._files.names(self._directory)

    def _finish_swap(self, names: list[str], swaps: set[str], offsets: dict[str, int]) -> None:
        swapped_logs = [offsets[name] for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
        if swapped_logs:
            ends: list[int] = []
            for offset in swapped_logs:
                segment = LogSegment.open(
                    self._directory, offset, self._open_files, second_suffix=SWAP_SUFFIX
                )
                ends.append(segment.next_offset())
                segment.close()
            low, high = min(swapped_logs), max(ends)
            for name in names:
                if low <= offsets.get(name, -1) < high and _is_plain_segment_file(name):
                    _logger.info("%s: replaced by a compacted segment", self._directory / name)
                    self._files.unlink(self._directory / name)
        # The log comes first, as in LogSegment.rename: the segments that it replaces are gone.
        for name in sorted(swaps, key=lambda name: not name.endswith(LOG_SUFFIX + SWAP_SUFFIX)):
            target = name.removesuffix(SWAP_SUFFIX)
            self._files.rename(self._directory / name, self._directory / target)

    # -- 2. segments

    def _open_segments(self, names: list[str]) -> None:
        logs: list[int] = []
        others: list[tuple[int, str]] = []
        for name in names:
            parsed = parse_segment_file(name)
            if parsed is not None and not parsed[2]:
                if parsed[1] == LOG_SUFFIX:
                    logs.append(parsed[0])
                elif parsed[1] in SEGMENT_SUFFIXES:
                    others.append(parsed[:2])
        for base_offset in sorted(logs):
            self._segments.add(LogSegment.open(self._directory, base_offset, self._open_files))
        if others:
            known = set(logs)
            for base_offset, suffix in others:
                if base_offset not in known:
                    self._files.unlink(segment_file(self._directory, base_offset, suffix))

    def _to_recover(self, names: set[str]) -> list[LogSegment]:
        """The segments to scan, after the recovery point; earlier ones get their indexes back."""
        unflushed = [] if self._clean_shutdown else self._segments.since(self._recovery_point)
        first = unflushed[0] if unflushed else None
        for segment in self._segments:
            if segment is first:
                break
            if not _has_indexes(segment, names) or not segment.transaction_index.is_sound():
                _logger.warning("%s: index missing or damaged, rebuilding it", segment.file.path)
                self._recover_segment(segment, self._state_before(segment))
                segment.flush()  # no later flush begins so early
                self._segments.note_aborts(segment)
        if self._clean_shutdown and self._has_needless_tail():
            return [self._segments.active]
        return unflushed

    def _has_needless_tail(self) -> bool:
        """True if something is behind all that the last broker closed the log with.

        Raises KafkaError(CORRUPT_MESSAGE): not all of that is there. A shorter log would give its
        offsets a second time.
        """
        if not len(self._segments):
            return False
        segment = self._segments.active
        try:
            segment.next_offset()
        except KafkaError as error:
            if 0 < self._recovery_point <= _intact_end(segment):
                return True
            hint = f"without {CLEAN_SHUTDOWN} in the data directory the log is cut there"
            raise KafkaError(error.code, f"{error.message} ({hint})") from error
        return False

    def _recover(self, segments: list[LogSegment]) -> int:
        """Scan the segments; returns the log's end offset."""
        first = segments[0].base_offset
        self._load_producers(self._segments.first.base_offset, first)
        next_offset = first
        is_whole = True
        for segment in segments:
            if segment.base_offset > next_offset and not self._may_be_gap(segment.base_offset):
                is_whole = False
            # It would make the log end where it begins, before records that are there.
            is_covered = segment.base_offset < next_offset >= _intact_end(segment)
            if is_whole and not is_covered:
                self._snapshots.take(self._state)
                next_offset, is_whole = self._recover_segment(segment, self._state)
                self._segments.note_aborts(segment)
            else:
                why = "after a loss" if not is_whole else "covered by the one before"
                _logger.warning("%s: %s, removed", segment.file.path, why)
                self._segments.remove(segment)
                segment.unlink()
                self._snapshots.remove_at(segment.base_offset)
        return next_offset

    def _may_be_gap(self, offset: int) -> bool:
        """True if offsets may be missing before the segment that begins at `offset`.

        A disk may have kept a later segment's bytes and lost an earlier one's: then what is behind
        must go. Kafka does not look for this, and its compaction leaves such gaps (ours does not).
        So they count as a loss only where the recovery point tells that the disk may not have had
        all, and nothing was compacted: compacted segments are flushed.
        """
        return not self._knows_recovery_point or offset <= self._cleaned_up_to or self._is_compacted

    def _recover_segment(self, segment: LogSegment, state: ProducerState) -> tuple[int, bool]:
        """Scan a segment and cut it after its last good batch; `state` is that before it.

        Returns the next offset, and True if every batch was good.
        """
        segment.reset()
        self._is_compacted = False
        end = 0
        next_offset = segment.base_offset
        reason = "cut short"
        try:
            for position, batch in segment.batches():
                if not batch.is_valid():
                    reason = "wrong checksum"
                    break
                if not segment.takes_offset(batch.base_offset) or batch.base_offset < next_offset:
                    reason = f"offset {batch.base_offset} where {next_offset} or more must be"
                    break
                if batch.base_offset > next_offset or batch.record_count <= batch.last_offset_delta:
                    self._is_compacted = True
                segment.note_batch(
                    position,
                    batch.size_bytes,
                    batch.base_offset,
                    batch.last_offset,
                    batch.max_timestamp,
                    self._index_interval_bytes,
                )
                self._epochs.note(batch.partition_leader_epoch, batch.base_offset)
                completed = state.replay(batch)
                aborted = None if completed is None else state.complete(completed)
                if aborted is not None:
                    segment.transaction_index.append(aborted)
                end = position + batch.size_bytes
                next_offset = batch.next_offset
        except KafkaError as error:
            reason = error.message or error.code.name
        is_whole = end == segment.size
        if not is_whole:
            _logger.warning(
                "%s: cut from %d to %d bytes: %s", segment.file.path, segment.size, end, reason
            )
            segment.cut(end)
        # The active segment's indexes may stay in memory. An earlier segment may become the active
        # one if a later one is lost, but it is finished all the same.
        if segment is not self._segments.active:
            segment.finish_indexes()
        return next_offset, is_whole

    def _start_again(self) -> int:
        """Begin with an empty segment at the log's start: no other reaches it."""
        for segment in self._segments:
            _logger.warning(
                "%s: ends before the log's start %d, removed",
                segment.file.path,
                self._log_start_offset,
            )
            self._segments.remove(segment)
            segment.unlink()
        self._state.clear()
        self._state.end_offset = self._log_start_offset
        self._snapshots.remove_all()
        self._segments.add(
            LogSegment.create(
                self._directory, self._log_start_offset, self._open_files, now_ms=self._now_ms
            )
        )
        return self._log_start_offset

    # -- 3. producers

    def _state_before(self, segment: LogSegment) -> ProducerState:
        """The producers' state as it was where a segment begins."""
        state = ProducerState(without_future(self._directory.name))
        first_offset = self._segments.first.base_offset
        self._snapshots.up_to(segment.base_offset).load_latest(state, first_offset)
        replay_producers(self._segments, state, segment.base_offset)
        return state

    def _load_producers(self, first_offset: int, up_to: int) -> None:
        """Load the producers' state as it was at offset `up_to`.

        Deleted records count as long as they are in the files. (Kafka begins at the log's start. It
        forgets an open transaction whose records were all deleted, unless a snapshot has it.)
        """
        self._snapshots.remove_strays(self._segments.base_offsets)
        self._snapshots.remove_behind(up_to)
        self._snapshots.load_latest(self._state, first_offset)
        replay_producers(self._segments, self._state, up_to)
        self._state.end_offset = max(self._state.end_offset, up_to)


def replay_producers(segments: Segments, state: ProducerState, up_to: int) -> None:
    """Bring `state` forward from its end to offset `up_to`, by the headers of the batches."""
    start = state.end_offset
    if start >= up_to:
        return
    for segment in segments.since(start):
        if segment.base_offset >= up_to:
            return
        for position, batch in segment.batches(segment.position_of(start), headers_only=True):
            if batch.base_offset >= up_to:
                return
            if batch.last_offset < start:
                continue
            completed = state.replay(segment.whole(position, batch) if batch.is_control else batch)
            if completed is not None:
                state.complete(completed)


def _intact_end(segment: LogSegment) -> int:
    """The offset after the last batch before the first that is torn or wrong."""
    end = segment.base_offset
    with suppress(KafkaError):
        for _, batch in segment.batches():
            if not batch.is_valid():
                break
            end = batch.next_offset
    return end


def _is_plain_segment_file(name: str) -> bool:
    parsed = parse_segment_file(name)
    return parsed is not None and parsed[1] in SEGMENT_SUFFIXES and not parsed[2]


def _has_indexes(segment: LogSegment, names: set[str]) -> bool:
    return all(
        index.path.name in names and index.is_sound()
        for index in (segment.offset_index, segment.time_index)
    )
