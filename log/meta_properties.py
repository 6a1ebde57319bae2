"""`meta.properties`: whose data directory it is. Source: Kafka's MetaProperties,
MetaPropertiesEnsemble."""

from __future__ import annotations

import base64
import uuid
from pathlib import Path
from typing import NamedTuple

from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import META_PROPERTIES, Files


class MetaProperties(NamedTuple):
    """What `meta.properties` says (version 1)."""

    cluster_id: str
    node_id: int
    directory_id: str


def random_id() -> str:
    """A new cluster's or directory's id, as Kafka writes them: a UUID in 22 characters of
    base64."""
    while True:
        encoded = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not encoded.startswith("-"):  # it would look like a flag to Kafka's tools
            return encoded


def read_meta_properties(directory: Path, files: Files) -> MetaProperties | None:
    """The directory's `meta.properties`; None if it has none.

    Raises:
        InconsistentDataDirectory: it cannot be understood.
        OSError: it cannot be read.
    """
    path = directory / META_PROPERTIES
    try:
        lines = files.read(path).decode().splitlines()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InconsistentDataDirectory(f"{path}: {error}") from error
    properties = dict(
        line.replace("\\", "").split("=", 1)
        for line in lines
        if "=" in line and not line.startswith("#")
    )
    if properties.get("version") != "1":
        raise InconsistentDataDirectory(f"{path}: version 1 expected")
    try:
        return MetaProperties(
            properties["cluster.id"], int(properties["node.id"]), properties.get("directory.id", "")
        )
    except (KeyError, ValueError) as error:
        raise InconsistentDataDirectory(f"{path}: {error} is missing or wrong") from error


def write_meta_properties(path: Path, properties: MetaProperties, files: Files) -> None:
    """Write it. Raises OSError."""
    text = (
        "#\n"
        f"cluster.id={properties.cluster_id}\n"
        f"directory.id={properties.directory_id}\n"
        f"node.id={properties.node_id}\n"
        "version=1\n"
    )
    files.write_atomically(path / META_PROPERTIES, text.encode())
