"""The rules of `cordoned.log.dirs`: data directories that get no new partitions (KIP-1066)."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from kafkalite.config.definition import ConfigError

EVERY_LOG_DIR: Final = "*"


def check_cordoned(cordoned: Sequence[str], log_dirs: Collection[str]) -> None:
    """Check that cordoned directories are log dirs. Raises ConfigError in Kafka's words
    (KafkaConfig)."""
    if EVERY_LOG_DIR in cordoned:
        if len(cordoned) > 1:
            raise ConfigError(
                "requirement failed: When cordoned.log.dirs is set to *, it must not contain other "
                "values"
            )
        return
    missing = [path for path in cordoned if path not in log_dirs]
    if missing:
        raise ConfigError(
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or "
            f"log.dir. Missing entries : {', '.join(missing)}"
        )


def one_directory(path: str | Path) -> str:
    """A single data directory as the value of log.dirs. Raises ConfigError.

    Without a name it would be Kafka's own default, and a comma stands between two.
    """
    if not str(path):
        raise ConfigError("a data directory needs a name")
    if "," in str(path):
        raise ConfigError(f"data directory {str(path)!r}: set log.dirs for several")
    return str(path)
