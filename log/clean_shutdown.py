"""A clean shutdown: all logs of a data directory are closed, and `.kafka_cleanshutdown` says so.

The file holds `{"version":0,"brokerEpoch":-1}`. Source: Kafka's CleanShutdownFileHandler; KIP-966.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from kafkalite.log.disk_wait import DiskWait
from kafkalite.log.files import CLEAN_SHUTDOWN, Files
from kafkalite.log.log import Log
from kafkalite.log.loggers import logger_of
from kafkalite.wire.errors import KafkaError

_logger = logger_of(__name__)

UNKNOWN_BROKER_EPOCH = -1

# For so many unflushed logs, one sync(2) of everything is faster than a few fsyncs for each.
_SYNC_AT_ONCE = 100
# A thread closes a log of more segments.
_MOST_BRIEF_SEGMENTS = 100


def take_clean_shutdown(directory: Path, files: Files) -> int | None:
    """Remove the file, and return the broker epoch in it, -1 if there is none.

    None: there was no file, so the last shutdown was not clean. Raises OSError.
    """
    path = directory / CLEAN_SHUTDOWN
    if not files.exists(path):
        return None
    broker_epoch = UNKNOWN_BROKER_EPOCH
    with suppress(OSError, ValueError, TypeError, KeyError):  # an older broker's is empty
        broker_epoch = int(json.loads(files.read(path))["brokerEpoch"])
    files.unlink(path)
    files.sync_directory(directory)
    return broker_epoch


def mark_clean_shutdown(directory: Path, files: Files, broker_epoch: int) -> None:
    """Write the file. Raises OSError."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    files.write_atomically(directory / CLEAN_SHUTDOWN, content.encode())


def close_logs(logs: Sequence[Log], files: Files) -> Generator[DiskWait | None, None, bool]:
    """Close all logs, one a step; True if every one closed cleanly.

    A step that can be called waits for the disk. Its flush may be done by a thread, so nothing is
    told of it: what waits for a flush has ended.
    """
    for log in logs:
        log.flush_requests.ended = None
    unflushed = [log for log in logs if log.recovery_point < log.log_end_offset]
    at_once = len(unflushed) >= _SYNC_AT_ONCE
    failed: list[Log] = []

    def close(log: Log) -> None:
        try:
            log.close(sync=not at_once)
        except KafkaError as error:
            _logger.error("%s", error)
            failed.append(log)

    for log in logs:
        closing = DiskWait(partial(close, log))
        is_flushed = at_once or log.recovery_point >= log.log_end_offset
        is_small = len(log.segments) + len(log.deleted_segments) <= _MOST_BRIEF_SEGMENTS
        yield None if is_flushed and is_small else closing
        closing.finish()
    failed += [log for log in logs if log.offline_reason is not None]
    if at_once and not failed:
        syncing = DiskWait(files.sync_everything)
        yield syncing
        syncing.finish()
        for log in unflushed:
            log.synced()
    return not failed
