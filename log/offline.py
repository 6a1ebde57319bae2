"""A log that could not be opened: it is there, and says to everyone why it is of no use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafkalite.log.config import LogConfig
from kafkalite.log.leader_epochs import LeaderEpochs
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_snapshots import ProducerSnapshots
from kafkalite.log.producer_state import ProducerState
from kafkalite.log.recovery import LoadedLog
from kafkalite.log.segment import LogSegment
from kafkalite.log.segments import Segments


def offline_log(
    directory: Path,
    config: LogConfig,
    reason: str,
    *,
    now_ms: Callable[[], int],
    open_files: OpenFiles,
) -> Log:
    """An empty log that touches no file; whatever is asked of it is refused with `reason`."""
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
    return log
