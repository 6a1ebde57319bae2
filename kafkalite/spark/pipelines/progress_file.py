"""The beginning of an appending replay: a small file in the archive until it is finished."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from kafkalite.spark.pipelines.errors import PipelineError


class ProgressFile:
    """The ends of the target's partitions before the first run, kept until one run is through."""

    def __init__(self, root: Path, topic: str, target: str, where: str) -> None:
        self._identity = {"topic": topic, "into": target, "where": where}
        name = hashlib.sha256(json.dumps(self._identity).encode()).hexdigest()[:16]
        self._path = root / f"_replay-{name}.json"

    def begin(self, ends: list[int]) -> list[int]:
        """The ends as the first run found them: `ends` if this is the first. Raises
        PipelineError."""
        try:
            stored = json.loads(self._path.read_text())
            return [int(end) for end in stored["ends"]]
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"{self._path} cannot be read: {error}") from error
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
