"""`kafkalite grow`: a one-process broker becomes a broker under Apache Kafka's controllers.

    kafkalite grow --controllers DIRECTORY... --config server.properties

The metadata of one process are a log that Apache Kafka's controllers take for their own. It is
copied into a data directory for each controller, and then leaves the broker's. All else stays where
it is: records, offsets, groups and transactions are the broker's with the same node id. Each
controller begins with a copy, as two of three that know nothing could outvote the third.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from kafkalite.config.broker_config import BrokerConfig
from kafkalite.config.definition import ConfigError
from kafkalite.config.flags import Parser, a_path, add_settings, mistake
from kafkalite.log.directory_lock import DirectoryLock
from kafkalite.log.errors import DataDirectoryInUse, InconsistentDataDirectory
from kafkalite.log.files import FILES, deleted_directory
from kafkalite.log.meta_properties import (
    MetaProperties,
    random_id,
    read_meta_properties,
    write_meta_properties,
)

FIRST_CONTROLLER_ID: Final = 3000
METADATA: Final = "__cluster_metadata-0"
# A controller's own, of its elections.
_QUORUM_STATE: Final = "quorum-state"


class NotGrown(Exception):
    """Everything is as it was; the message says why."""


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    flags = _parse(arguments)
    try:
        config = BrokerConfig.from_sources(flags.config, os.environ, dict(flags.settings))
        data = [Path(directory) for directory in config.log_dirs]
        directories: list[Path] = flags.controllers
        controllers = dict(enumerate(directories, start=flags.first_id))
        cluster_id = grow(data, config.node_id, controllers)
    except (
        *(ConfigError, NotGrown, DataDirectoryInUse, InconsistentDataDirectory),
        OSError,
    ) as error:
        return mistake(error, "kafkalite grow")
    print(f"The metadata of cluster {cluster_id} belong to its controllers now:")
    for node_id, path in controllers.items():
        print(f"  process.roles=controller, node.id={node_id}, log.dirs={path}")
    print(f"{data[0]} is broker {config.node_id}'s: start it with process.roles=broker")
    return 0


def grow(data: Sequence[Path], node_id: int, controllers: dict[int, Path]) -> str:
    """Give the metadata in the first data directory to controllers; returns the cluster id.

    Args:
        data: the data directories of the broker, which does not run.
        node_id: the broker's.
        controllers: data directories to make, by the controllers' node ids.

    Raises NotGrown, DataDirectoryInUse, InconsistentDataDirectory, OSError.
    """
    known = read_meta_properties(data[0], FILES)
    if known is None:
        raise NotGrown(f"{data[0]} is no data directory: it has no meta.properties")
    if known.node_id != node_id:
        raise NotGrown(f"{data[0]} belongs to node {known.node_id}, not to node {node_id}")
    if node_id in controllers:
        raise NotGrown(f"the broker has the node id {node_id}; --first-id gives controllers others")
    for path in controllers.values():
        if path.exists() and any(path.iterdir()):
            raise NotGrown(f"{path} is not empty")
    metadata = data[0] / METADATA
    with ExitStack() as stack:
        for path in data:
            stack.callback(DirectoryLock.take(path.resolve()).release)
        if not metadata.is_dir():
            raise NotGrown(f"{data[0]} has no metadata of its own: it has grown already")
        for controller_id, path in controllers.items():
            _make(path, metadata, MetaProperties(known.cluster_id, controller_id, random_id()))
        # The next start removes what a crash leaves of it.
        removed = metadata.with_name(deleted_directory(METADATA))
        metadata.rename(removed)
        FILES.sync_directory(data[0])
        shutil.rmtree(removed)
    return known.cluster_id


def _make(path: Path, metadata: Path, properties: MetaProperties) -> None:
    """A controller's data directory, whole or not there at all."""
    growing = path.with_name(f"{path.name}.growing")
    shutil.rmtree(growing, ignore_errors=True)
    (growing / METADATA).mkdir(parents=True)
    for file in metadata.iterdir():
        if file.is_file() and file.name != _QUORUM_STATE:
            shutil.copyfile(file, growing / METADATA / file.name)
    write_meta_properties(growing, properties, FILES)
    for each in _everything_in(growing):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    growing.rename(path)
    FILES.sync_directory(path.absolute().parent)


def _everything_in(path: Path) -> Iterator[Path]:
    yield from path.rglob("*")
    yield path


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(
        prog="kafkalite grow",
        description="Give the metadata of a one-process broker, which does not run, to Apache "
        "Kafka's controllers.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--controllers",
        required=True,
        nargs="+",
        metavar="DIRECTORY",
        type=a_path,
        help="a data directory to make for each controller",
    )
    parser.add_argument(
        "--first-id",
        type=int,
        default=FIRST_CONTROLLER_ID,
        help="the node id of the first controller; the others have the next (default: 3000)",
    )
    parser.add_argument("-c", "--config", metavar="FILE", type=a_path, help="a server.properties")
    add_settings(parser)
    return parser.parse_args(arguments)
