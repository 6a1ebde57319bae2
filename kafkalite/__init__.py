"""kafkalite: a small broker that speaks Kafka's wire protocol.

`Broker` and `BrokerConfig` are imported when they are asked for: `kafkalite --version`, and pytest
in its every run, need neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkalite.broker import Broker
    from kafkalite.config import BrokerConfig

__version__ = "0.1.0"
__all__ = ["Broker", "BrokerConfig", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Broker":
        from kafkalite.broker import Broker

        return Broker
    if name == "BrokerConfig":
        from kafkalite.config import BrokerConfig

        return BrokerConfig
    raise AttributeError(name)
