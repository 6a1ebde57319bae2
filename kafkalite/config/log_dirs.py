"""The rules of `cordoned.log.dirs`: data directories that get no new partitions (KIP-1066)."""

from collections.abc import Collection, Sequence
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
