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
__all__ = ["Broker", "BrokerConfig", "__version__", "version_and_build"]


def version_and_build() -> str:
    """`0.1.0 (compiled)` if the hot modules are in machine code, or `0.1.0 (pure Python)`."""
    from importlib.util import find_spec

    found = find_spec("kafkalite.log.record_walk")
    is_source = found is None or found.origin is None or found.origin.endswith(".py")
    return f"{__version__} ({'pure Python' if is_source else 'compiled'})"


def __getattr__(name: str) -> object:
    if name == "Broker":
        from kafkalite.broker import Broker

        return Broker
    if name == "BrokerConfig":
        from kafkalite.config import BrokerConfig

        return BrokerConfig
    raise AttributeError(name)
