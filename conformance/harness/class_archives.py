"""Archives of loaded classes: with one, a JVM of Apache Kafka starts with half of the CPU.

A JVM writes such an archive when it ends, and another one reads it whose class path begins with
the same jars. Of two archives one is for brokers and one for the command line tools. They are made
once, by a broker and tools that are used for a moment (`python -m conformance.prepare`); without
them everything starts more slowly, and does the same.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

from conformance.harness.cache import cache_directory
from conformance.harness.jars import kafka_jars
from conformance.harness.java import find_java

BROKER_ARCHIVE, TOOLS_ARCHIVE = "broker.jsa", "tools.jsa"
_WRITE = "-XX:ArchiveClassesAtExit="
# A tool's answer stands on standard output: nothing is said there about archives.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def archives_name() -> str:
    """The name in the cache, which is another for another Java, or for other jars."""
    java = find_java().resolve()
    what = f"{kafka_jars()} {java} {java.stat().st_mtime_ns}"
    return f"class-archives-{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def writing(archive: Path) -> tuple[str, ...]:
    """The flags of a JVM that leaves an archive when it ends."""
    return (f"{_WRITE}{archive}", *_QUIET)


@functools.cache
def _reading(name: str) -> tuple[str, ...]:
    """The flags of a JVM that starts with an archive; none if it is not there."""
    archive = cache_directory() / archives_name() / name
    return (f"-XX:SharedArchiveFile={archive}", *_QUIET) if archive.is_file() else ()


def archive_flags(name: str, jars: Path, flags: Sequence[str]) -> tuple[str, ...]:
    """The flags to read an archive, for a JVM with these jars first in the class path, and these
    flags. None if it has others' jars, or writes one."""
    writes = any(flag.startswith(_WRITE) for flag in flags)
    return () if writes or jars != kafka_jars() else _reading(name)
