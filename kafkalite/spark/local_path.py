"""Paths as they are named to Spark: of this machine, perhaps as a `file:` URI."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from kafkalite.spark.errors import SparkSourceError

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def local_path(named: str | Path) -> Path:
    """The path on this machine. Raises SparkSourceError for a place that is elsewhere: as a path,
    s3://bucket would be a folder named "s3:".
    """
    if isinstance(named, Path) or not _SCHEME.match(named):
        return Path(named)
    parts = urlsplit(named)
    if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost"):
        raise SparkSourceError(
            f"{named} is no path on this machine: name a local or mounted one, and copy from there"
        )
    return Path(unquote(parts.path))
