"""`meta.properties` names the cluster and the node that a data directory belongs to.

Source: Kafka's MetaProperties, MetaPropertiesEnsemble.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import NamedTuple

from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import META_PROPERTIES, Files
from kafkalite.wire.kafka_uuid import new_kafka_uuid, parse_kafka_uuid


class MetaProperties(NamedTuple):
    """The entries of `meta.properties`, version 1. Older files have no directory id ("")."""

    cluster_id: str
    node_id: int
    directory_id: str


def random_id() -> str:
    """A new cluster's or directory's id as Kafka writes it: a UUID in 22 characters of base64."""
    return new_kafka_uuid(uuid.uuid4)


def read_meta_properties(directory: Path, files: Files) -> MetaProperties | None:
    """The directory's `meta.properties`; None if it has none.

    Raises:
        InconsistentDataDirectory: the file is not of version 1, or an entry is missing.
        OSError: the file cannot be read.
    """
    path = directory / META_PROPERTIES
    try:
        lines = files.read(path).decode().splitlines()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InconsistentDataDirectory(f"{path}: {error}") from error
    pairs = (line.replace("\\", "").partition("=") for line in lines if line[:1] not in "#!")
    properties = {name.strip(): value.strip() for name, _, value in pairs}
    if properties.get("version") != "1":
        raise InconsistentDataDirectory(f"{path}: version 1 expected")
    directory_id = properties.get("directory.id", "")
    if directory_id:
        _check_id(path, directory_id)
    try:
        return MetaProperties(properties["cluster.id"], int(properties["node.id"]), directory_id)
    except (KeyError, ValueError) as error:
        raise InconsistentDataDirectory(f"{path}: {error} is missing or wrong") from error


def _check_id(path: Path, directory_id: str) -> None:
    try:
        parse_kafka_uuid(directory_id)
    except ValueError:
        reason = f"{path}: directory.id {directory_id!r} is no UUID in base64"
        raise InconsistentDataDirectory(reason) from None


def ensure_meta_properties(
    directory: Path,
    files: Files,
    cluster_id: str | None,
    node_id: int,
    new_id: str | None = None,
) -> MetaProperties:
    """The directory's `meta.properties`, written if it is new or has no directory id.

    `cluster_id` None takes any cluster's directory, and gives a new directory a new cluster's id.
    `new_id` is the id of a directory that has none; None leaves it to chance.

    Raises:
        InconsistentDataDirectory: the directory belongs to another cluster or node.
        OSError: the file cannot be read or written.
    """
    properties = read_meta_properties(directory, files)
    if properties is None:
        properties = MetaProperties(cluster_id or random_id(), node_id, "")
    if not properties.directory_id:  # new, or from before Kafka 3.7
        properties = properties._replace(directory_id=new_id or random_id())
        write_meta_properties(directory, properties, files)
    if cluster_id is not None and properties.cluster_id != cluster_id:
        raise InconsistentDataDirectory(
            f"{directory} belongs to cluster {properties.cluster_id}, not {cluster_id}"
        )
    if properties.node_id != node_id:
        raise InconsistentDataDirectory(
            f"{directory} belongs to node {properties.node_id}, not {node_id}"
        )
    return properties


def write_meta_properties(path: Path, properties: MetaProperties, files: Files) -> None:
    """Write `meta.properties` in the directory `path`. Raises OSError."""
    text = (
        "#\n"
        f"cluster.id={properties.cluster_id}\n"
        f"directory.id={properties.directory_id}\n"
        f"node.id={properties.node_id}\n"
        "version=1\n"
    )
    files.write_atomically(path / META_PROPERTIES, text.encode())
