"""kafkalite as `--sasl`, `--tls` and `--acls` start it, and the settings that it gives clients."""

from __future__ import annotations

from pathlib import Path

from conformance.harness.kafkalite import Kafkalite


class FlaggedKafkalite(Kafkalite):
    """One node with these flags more."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self._flags = flags
        super().__init__(directory)

    def command(self, ready_file: Path) -> list[str]:
        return [*super().command(ready_file), *self._flags]

    def settings(self, client: str) -> dict[str, str]:
        """For "java", "librdkafka" or "kafka_python"."""
        return dict(self.ready["clients"][client])
