"""The configs that clusters made beside another one have from it."""

from __future__ import annotations

from typing import Final

from kafkalite.config import BrokerConfig

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
