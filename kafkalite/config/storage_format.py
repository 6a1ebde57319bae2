"""`kafkalite format`: data directories for a broker of a cluster, as kafka-storage makes them.

kafkalite format --cluster-id ID --config server.properties
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kafkalite.config.broker_config import BrokerConfig
from kafkalite.config.definition import ConfigError
from kafkalite.config.flags import Parser, a_path, add_settings, mistake
from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import (
    MetaProperties,
    random_id,
    read_meta_properties,
    write_meta_properties,
)


class NotFormatted(Exception):
    """A directory was left as it is; the message says why."""


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    flags = _parse(arguments)
    try:
        config = BrokerConfig.from_sources(flags.config, os.environ, dict(flags.settings))
        for directory in config.log_dirs:
            path = Path(directory)
            if format_directory(path, flags.cluster_id, config.node_id, flags.ignore_formatted):
                print(f"Formatted {path} for node {config.node_id} of cluster {flags.cluster_id}")
            else:
                print(f"{path} is formatted already")
    except (ConfigError, NotFormatted, InconsistentDataDirectory) as error:
        return mistake(error, "kafkalite format")
    return 0


def format_directory(path: Path, cluster_id: str, node_id: int, ignore_formatted: bool) -> bool:
    """Write its meta.properties; False if it is this cluster's and node's already.

    Raises NotFormatted, InconsistentDataDirectory.
    """
    try:
        FILES.make_directory(path)
        known = read_meta_properties(path, FILES)
        if known is None:
            write_meta_properties(path, MetaProperties(cluster_id, node_id, random_id()), FILES)
            return True
    except OSError as error:
        raise NotFormatted(f"{path} cannot be formatted: {error.strerror}") from None
    if known[:2] != (cluster_id, node_id):
        raise NotFormatted(
            f"{path} belongs to node {known.node_id} of cluster {known.cluster_id}, "
            f"not to node {node_id} of cluster {cluster_id}"
        )
    if not ignore_formatted:
        raise NotFormatted(f"{path} is formatted already (--ignore-formatted goes on)")
    return False


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(
        prog="kafkalite format",
        description="Make the data directories of a broker of a cluster.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-t", "--cluster-id", required=True, help="the controllers' (kafka-storage random-uuid)"
    )
    parser.add_argument("-c", "--config", metavar="FILE", type=a_path, help="a server.properties")
    add_settings(parser)
    parser.add_argument(
        "-g",
        "--ignore-formatted",
        action="store_true",
        help="leave directories alone that are formatted for this cluster and node",
    )
    return parser.parse_args(arguments)
