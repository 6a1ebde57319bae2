"""The Kafka that is meant: named by a flag, else the kafkalite that runs here.

In this order: -b, `bootstrap.servers` of -X or -F, --ready-file, KAFKALITE_BOOTSTRAP, the file that
KAFKALITE_READY_FILE names, the user's broker that started last, 127.0.0.1:9092. A ready file brings
the settings with which clients get in, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from kafkalite.config.ready_file import newest

DEFAULT: Final = "127.0.0.1:9092"
_NAMES: Final = ("bootstrap.servers", "metadata.broker.list")


@dataclass(frozen=True, slots=True)
class Target:
    """Addresses (`host:port`, by commas) and settings in librdkafka's words."""

    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


def find(
    bootstrap: str | None,
    settings: Mapping[str, str],
    ready_file: Path | None,
    environment: Mapping[str, str],
) -> Target:
    """The Kafka that is meant. Raises click.UsageError for a ready file that is none."""
    own = {name: value for name, value in settings.items() if name not in _NAMES}
    named = bootstrap or next((settings[name] for name in _NAMES if name in settings), None)
    if named is None and ready_file is None:
        named = environment.get("KAFKALITE_BOOTSTRAP")
    if named is not None:
        return Target(_checked(named), own)
    from_environment = environment.get("KAFKALITE_READY_FILE")
    path = ready_file or (Path(from_environment) if from_environment else newest(environment))
    if path is None:
        return Target(DEFAULT, own)
    ready = _read(path)
    clients: Mapping[str, str] = ready.get("clients", {}).get("librdkafka", {})
    return Target(ready["bootstrap"], {**clients, **own})


def _read(path: Path) -> dict[str, Any]:
    try:
        ready: dict[str, Any] = json.loads(path.read_text())
        str(ready["bootstrap"])
        return ready
    except OSError as error:
        raise click.UsageError(f"the ready file {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise click.UsageError(f"{path} is no ready file of kafkalite") from None


def _checked(bootstrap: str) -> str:
    for address in bootstrap.split(","):
        host, colon, port = address.strip().rpartition(":")
        is_address = bool(host) and port.isdigit() and int(port) <= 65535
        if not is_address and (colon or not port):  # a host alone has Kafka's usual port
            raise click.UsageError(f"-b {bootstrap}: {address!r} is no HOST:PORT")
    return bootstrap
