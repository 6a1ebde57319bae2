"""A log is opened: recovered if need be, or offline with a reason if that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkalite.log.config import LogConfig
from kafkalite.log.flush_requests import FlushRequests
from kafkalite.log.leader_epochs import LeaderEpochs
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_snapshots import ProducerSnapshots
from kafkalite.log.producer_state import ProducerState
from kafkalite.log.recovery import LoadedLog, LogLoader
from kafkalite.log.said_once import SaidOnce
from kafkalite.log.segment import LogSegment
from kafkalite.log.segments import Segments


def open_log(
    directory: Path,
    config: LogConfig,
    *,
    now_ms: Callable[[], int],
    open_files: OpenFiles | None = None,
    log_start_offset: int = 0,
    recovery_point: int | None = 0,
    clean_shutdown: bool = False,
    cleaned_up_to: int = 0,
    on_failure: Callable[[OSError], None] | None = None,
    trouble: SaidOnce | None = None,
    flush_requests: FlushRequests | None = None,
) -> Log:
    """Open a log, new or old, and recover it if need be.

    Args:
        directory: `topic-partition`; made if it is not there.
        now_ms: the clock, milliseconds since 1970.
        log_start_offset: as checkpointed; 0 if never.
        recovery_point: the same; None if the checkpoint is lost.
        clean_shutdown: True if the last broker closed the log: nothing is scanned then.
        cleaned_up_to: below it the log was compacted, by whatever broker.
        on_failure: called when the disk breaks.
        trouble: logs errors that pass, such as a full disk; shared by the logs of a directory.
        flush_requests: takes the flushes that appends ask for; without one, appends flush.

    Raises:
        OSError: the directory cannot be read or written.
        KafkaError(CORRUPT_MESSAGE): a part of the log that must be whole is not.
    """
    open_files = OpenFiles() if open_files is None else open_files
    loaded = LogLoader(
        directory,
        open_files,
        now_ms=now_ms(),
        index_interval_bytes=config.most_unindexed_bytes,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        clean_shutdown=clean_shutdown,
        cleaned_up_to=cleaned_up_to,
    ).load()
    return Log(
        directory,
        config,
        loaded,
        open_files,
        now_ms=now_ms,
        on_failure=on_failure,
        trouble=trouble,
        flush_requests=flush_requests,
    )


def offline_log(
    directory: Path,
    config: LogConfig,
    reason: str,
    *,
    now_ms: Callable[[], int],
    open_files: OpenFiles,
    may_come_back: bool = False,
) -> Log:
    """An empty log that touches no file, and refuses every request with `reason`."""
    segments = Segments()
    segments.add(LogSegment.create(directory, 0, open_files, now_ms=now_ms()))
    log = Log(
        directory,
        config,
        LoadedLog(
            segments,
            LeaderEpochs(directory, open_files.files),
            ProducerState(directory.name),
            ProducerSnapshots(directory, open_files.files),
            log_start_offset=0,
            log_end_offset=0,
            recovery_point=0,
        ),
        open_files,
        now_ms=now_ms,
        on_failure=None,
    )
    log.offline_reason = reason
    log.may_come_back = may_come_back
    return log
