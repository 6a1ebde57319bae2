"""Ready files: how to connect to a broker that runs, as a JSON object.

    {"bootstrap": "127.0.0.1:9092", "pid": 4711, "control": {"url": ..., "token": ...}, ...}

The command writes one where --ready-file says, and one into $XDG_RUNTIME_DIR/kafkalite, the
directory of what the user's programs have while they run. There words and verbs that are told no
broker find the newest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def own_path(environment: Mapping[str, str]) -> Path | None:
    """The file of this process among those of the user's brokers; None without a place for it."""
    directory = _directory(environment)
    if directory is None:
        return None
    with suppress(OSError):
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory / f"{os.getpid()}.json" if os.access(directory, os.W_OK) else None


def newest(environment: Mapping[str, str], *needed: str) -> Path | None:
    """The file of the broker of this user's that started last, runs, and has what is needed.

    `needed` are keys of the object, such as "control". None if there is none.
    """
    directory = _directory(environment)
    if directory is None or not directory.is_dir():
        return None
    running = (
        (path.stat().st_mtime_ns, path)
        for path, ready in _running(directory.glob("*.json"))
        if all(key in ready for key in needed)
    )
    return max(running, default=(0, None))[1]


def write(ready: Mapping[str, Any], path: Path) -> None:
    """Write the file, which appears whole or not at all. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    # It may hold a password.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(ready) + "\n")
        os.replace(temporary, path)
    except OSError:
        remove(temporary)
        raise


def remove(path: Path) -> None:
    """Remove the file, if it is there."""
    with suppress(OSError):
        path.unlink()


def _directory(environment: Mapping[str, str]) -> Path | None:
    runtime = environment.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "kafkalite" if runtime else None


def _running(paths: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files whose processes are there. Those that a kill has left are removed."""
    for path in paths:
        try:
            ready: dict[str, Any] = json.loads(path.read_text())
            os.kill(int(ready["pid"]), 0)
        except ProcessLookupError:
            remove(path)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # another user's, or none of ours
        else:
            yield path, ready
