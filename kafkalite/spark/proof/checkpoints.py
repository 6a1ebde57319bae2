"""Files of Spark's checkpoints and of its Parquet sink, read without Spark.

Source: Spark's OffsetSeqLog, CommitLog, FileStreamSinkLog.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

from kafkalite.spark.proof.source import SOURCE

_COMPACT: Final = ".compact"


def batch_ids(checkpoint: Path, kind: str) -> list[int]:
    """The batches planned ("offsets") or done ("commits"), ascending."""
    try:
        names = [path.name for path in (checkpoint / kind).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())


def planned_end(checkpoint: Path, batch_id: int) -> dict[int, int]:
    """The end offset of a batch by partition of the source; where the next one begins."""
    if batch_id < 0:
        return {}
    lines = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
    # version, the batch's metadata, then an offset for each source
    by_partition: dict[str, Any] = json.loads(lines[2])[SOURCE]
    return {int(partition): int(offset) for partition, offset in by_partition.items()}


def interrupted(checkpoint: Path) -> set[int]:
    """The batches that were planned and not committed: a restart runs them again."""
    return set(batch_ids(checkpoint, "offsets")) - set(batch_ids(checkpoint, "commits"))


def sink_files(directory: Path) -> list[Path]:
    """The Parquet files that count: those the sink's log names."""
    log = directory / "_spark_metadata"
    try:
        names = [path.name for path in log.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return []
    compacted = [int(name.removesuffix(_COMPACT)) for name in names if name.endswith(_COMPACT)]
    first = max(compacted, default=-1)
    wanted = [f"{first}{_COMPACT}"] if compacted else []
    wanted += [str(i) for i in sorted(int(n) for n in names if n.isdigit()) if i > first]
    found: dict[str, Path] = {}
    for name in wanted:
        for line in (log / name).read_text().splitlines()[1:]:
            entry = json.loads(line)
            path = unquote(urlparse(entry["path"]).path)
            if entry.get("action", "add") == "add":
                found[path] = Path(path)
            else:
                found.pop(path, None)
    return list(found.values())
