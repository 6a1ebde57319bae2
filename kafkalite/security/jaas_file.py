"""The JAAS file of a broker (kafkalite.jaas.file), for listeners without a `sasl.jaas.config`.

Source: Kafka's JaasContext.loadServerContext.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalite.config import ConfigError

# Most brokers have none.
if TYPE_CHECKING:
    from kafkalite.security.jaas import JaasEntry


class JaasFile:
    """The file's contexts; none without a file."""

    def __init__(self, path: str | None) -> None:
        """Raises ConfigError."""
        self._contexts = _read(path) if path else {}

    def entries(self, listener: str) -> Mapping[str, JaasEntry]:
        """The entries of a listener's context, or else of KafkaServer, by login module."""
        for context in (f"{listener.lower()}.KafkaServer", "KafkaServer"):
            if context in self._contexts:
                return {entry.login_module: entry for entry in self._contexts[context]}
        return {}


def _read(path: str) -> dict[str, list[JaasEntry]]:
    from kafkalite.security.jaas import JaasError, parse_jaas_file

    try:
        return parse_jaas_file(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the JAAS file {path}: {error.strerror}") from None
    except (JaasError, UnicodeDecodeError) as error:
        raise ConfigError(f"the JAAS file {path}: {error}") from None
