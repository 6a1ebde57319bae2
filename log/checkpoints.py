"""Checkpoint files: small text files, replaced whole, in Kafka's format.

::

    0                       version
    2                       how many lines follow
    orders 0 1234           one entry per line

Source: Kafka's CheckpointFile, OffsetCheckpointFile, LeaderEpochCheckpointFile,
PartitionMetadataFile.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafkalite.log.files import Files
from kafkalite.log.loggers import logger_of
from kafkalite.wire.kafka_uuid import kafka_uuid, parse_kafka_uuid

_logger = logger_of(__name__)

TopicPartition = tuple[str, int]


class CorruptCheckpoint(ValueError):
    """A checkpoint file is torn or damaged."""


def read_lines(files: Files, path: Path) -> list[list[str]]:
    """The words of each entry; none if there is no file. Raises CorruptCheckpoint, OSError."""
    try:
        lines = files.read(path).decode().splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{path}: {error}") from error
    if not lines:  # as Kafka leaves a checkpoint that never had an entry
        return []
    if len(lines) < 2 or lines[0] != "0" or not lines[1].isdigit():
        raise CorruptCheckpoint(f"{path}: no version 0 and count in the first two lines")
    entries = [line.split(" ") for line in lines[2:]]
    if len(entries) != int(lines[1]):
        raise CorruptCheckpoint(f"{path}: {lines[1]} entries expected, {len(entries)} found")
    return entries


def write_lines(files: Files, path: Path, entries: Iterable[str], *, sync: bool = True) -> None:
    """Replace the file, atomically. Raises OSError."""
    lines = list(entries)
    text = "\n".join(["0", str(len(lines)), *lines]) + "\n"
    files.write_atomically(path, text.encode(), sync=sync)


def read_offsets(files: Files, path: Path) -> dict[TopicPartition, int]:
    """An offset checkpoint: (topic, partition) to offset. Raises CorruptCheckpoint, OSError.

    What is below zero is no offset, and counts as zero, as in Kafka.
    """
    try:
        return {
            (topic, int(partition)): max(0, int(offset))
            for topic, partition, offset in read_lines(files, path)
        }
    except ValueError as error:
        raise CorruptCheckpoint(f"{path}: {error}") from error


def offsets_if_sound(files: Files, path: Path) -> dict[TopicPartition, int]:
    """The same; nothing, with a warning, if the file is damaged. Raises OSError."""
    try:
        return read_offsets(files, path)
    except CorruptCheckpoint as error:
        _logger.warning("%s", error)
        return {}


def write_offsets(
    files: Files, path: Path, offsets: Mapping[TopicPartition, int], *, sync: bool = True
) -> None:
    """Replace an offset checkpoint. Raises OSError."""
    lines = (f"{topic} {i} {offset}" for (topic, i), offset in offsets.items())
    write_lines(files, path, lines, sync=sync)


def read_topic_id(files: Files, path: Path) -> uuid.UUID | None:
    """The topic id in a `partition.metadata`; None if there is no file.

    Raises CorruptCheckpoint, OSError.
    """
    try:
        lines = files.read(path).decode().splitlines()
        if lines[0] != "version: 0" or not lines[1].startswith("topic_id: "):
            raise CorruptCheckpoint(f"{path}: neither version 0 nor a topic id")
        return parse_kafka_uuid(lines[1].removeprefix("topic_id: "))
    except FileNotFoundError:
        return None
    except (ValueError, IndexError) as error:
        raise CorruptCheckpoint(f"{path}: {error}") from error


def write_topic_id(files: Files, path: Path, topic_id: uuid.UUID) -> None:
    """Write a `partition.metadata`. Raises OSError."""
    text = f"version: 0\ntopic_id: {kafka_uuid(topic_id)}\n"
    files.write_atomically(path, text.encode(), sync=False)
