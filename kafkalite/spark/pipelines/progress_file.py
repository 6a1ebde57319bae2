"""The beginning of an appending replay: a small file in the archive until it is finished."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from kafkalite.spark.pipelines.errors import PipelineError


class ProgressFile:
    """The ends of the target's partitions before the first run, kept until one run is through."""

    def __init__(self, root: Path, topic: str, target: str, where: str | Path) -> None:
        self._identity = {"topic": topic, "into": target, "where": str(where)}
        name = hashlib.sha256(json.dumps(self._identity).encode()).hexdigest()[:16]
        self._path = root / f"_replay-{name}.json"

    def begin(self, ends: list[int]) -> list[int]:
        """The ends as the first run found them: `ends` if this is the first. Raises
        PipelineError."""
        try:
            stored = json.loads(self._path.read_text())
            found = [int(end) for end in stored["ends"]]
        except FileNotFoundError:
            return self._first(ends)
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"{self._path} cannot be read: {error}") from error
        if len(found) != len(ends):
            raise self._other(f"has {len(ends)} partitions, and had {len(found)}")
        for partition, (began, end) in enumerate(zip(found, ends, strict=True)):
            if end < began:
                raise self._other(f"ends at offset {end} in partition {partition}, not {began}")
        return found

    def _other(self, what: str) -> PipelineError:
        return PipelineError(
            f"topic {self._identity['into']} is not what it was when an interrupted run began: it "
            f"{what}; remove {self._path} to begin anew"
        )

    def _first(self, ends: list[int]) -> list[int]:
        temporary = self._path.with_suffix(".new")
        try:
            temporary.write_text(json.dumps({**self._identity, "ends": ends}))
            os.replace(temporary, self._path)
        except OSError as error:
            raise PipelineError(f"cannot write to {self._path}: {error.strerror}") from error
        return ends

    def end(self) -> None:
        """All is there: the next run appends once more."""
        self._path.unlink(missing_ok=True)
