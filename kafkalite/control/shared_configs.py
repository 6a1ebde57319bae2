"""The configs that clusters made beside another one have from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkalite.config import BrokerConfig, ConfigError

# Configs that a cluster does not share with those made beside it.
_OWN: Final = frozenset(
    {
        *("listeners", "advertised.listeners", "log.dirs", "log.dir", "kafkalite.cluster.id"),
        *("kafkalite.control.port", "kafkalite.control.host", "kafkalite.control.token"),
        *("kafkalite.metrics.port", "kafkalite.metrics.host", "kafkalite.nodes", "node.id"),
        *("kafkalite.clusters.ports", "kafkalite.clusters.max"),
        *("broker.id", "listener.security.protocol.map", "inter.broker.listener.name"),
    }
)
# Configs of the process: a cluster that is made would have them in vain.
_OF_THE_PROCESS: Final = frozenset(
    {
        *("log.dirs", "log.dir", "kafkalite.control.port", "kafkalite.control.host"),
        *("kafkalite.control.token", "kafkalite.control.hosts", "kafkalite.ui"),
        *("kafkalite.clusters.ports", "kafkalite.clusters.max"),
    }
)


def check_own(names: Iterable[str]) -> None:
    """Check the configs that a cluster is asked for with. Raises ConfigError."""
    vain = next((name for name in names if name in _OF_THE_PROCESS), None)
    if vain is not None:
        raise ConfigError(f"config {vain}: it is the process's, and no cluster's that is made")


def shared_configs(config: BrokerConfig, port: int = 0) -> dict[str, str]:
    """All that were given, but addresses, ports and places; hosts are the first listener's.

    The first node listens on `port`; 0: on any.
    """
    shared = {name: value for name, value in config.given.items() if name not in _OWN}
    shared["listeners"] = _address(config.listeners()[0].host, port)
    if config.items("advertised.listeners"):
        shared["advertised.listeners"] = _address(config.advertised_listeners()[0].host, 0)
    return shared


def _address(host: str, port: int) -> str:
    return f"PLAINTEXT://{f'[{host}]' if ':' in host else host}:{port}"
