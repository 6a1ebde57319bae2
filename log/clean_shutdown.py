"""`.kafka_cleanshutdown`: the last broker closed all logs of the data directory.

It holds `{"version":0,"brokerEpoch":-1}`. Source: Kafka's CleanShutdownFileHandler; KIP-966.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from kafkalite.log.files import CLEAN_SHUTDOWN, Files

UNKNOWN_BROKER_EPOCH = -1


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
