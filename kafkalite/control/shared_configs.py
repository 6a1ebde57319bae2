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
        *("broker.id", "listener.security.protocol.map", "inter.broker.listener.name"),
    }
)


def shared_configs(config: BrokerConfig) -> dict[str, str]:
    """All that were given, but addresses, ports and places."""
    host = config.listeners()[0].host
    host = f"[{host}]" if ":" in host else host
    return {
        **{name: value for name, value in config.given.items() if name not in _OWN},
        "listeners": f"PLAINTEXT://{host}:0",
    }
