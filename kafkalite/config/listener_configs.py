"""Configs as one listener has them: `listener.name.<name>.<config>` over `<config>` (KIP-103).

What belongs to a SASL mechanism, too, is `listener.name.<name>.<mechanism>.<config>`; names of
listeners and mechanisms are in small letters there. Source: Kafka's
AbstractConfig.valuesWithPrefixOverride and ChannelBuilders.channelBuilderConfigs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafkalite.config.definition import BROKER_CONFIGS, ConfigValue

if TYPE_CHECKING:
    from kafkalite.config.broker_config import BrokerConfig

PREFIX = "listener.name."
# A running listener takes new values of these, and of no others of its own
# (SslConfigs.RECONFIGURABLE_CONFIGS).
STORES: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)


class ListenerConfigs:
    """The configs of one listener of one node, with the dynamic ones of this moment."""

    def __init__(
        self,
        config: BrokerConfig,
        listener_name: str,
        node_id: int,
        dynamic: Mapping[str, str] | None = None,
    ) -> None:
        """`dynamic`: those that the node is to have, in the place of those that it has."""
        if dynamic is None:
            dynamic = config.dynamic_by_node.get(node_id, {})
        self._prefix = f"{PREFIX}{listener_name.lower()}."
        self._texts = {
            **config.static,
            **config.dynamic_default,
            **dynamic,
        }

    def value(self, name: str, mechanism: str | None = None) -> ConfigValue:
        """A value, the most specific there is. Raises ConfigError."""
        names = [self._prefix + name, name]
        if mechanism is not None:
            names.insert(0, f"{self._prefix}{mechanism.lower()}.{name}")
        definition = BROKER_CONFIGS[name]
        for key in names:
            if key in self._texts:
                return definition.parse(self._texts[key])
        return definition.parse(definition.default)

    def own(self, name: str, mechanism: str | None = None) -> ConfigValue:
        """A value that is set for this listener itself, and mechanism if given; else None."""
        middle = "" if mechanism is None else f"{mechanism.lower()}."
        text = self._texts.get(f"{self._prefix}{middle}{name}")
        return BROKER_CONFIGS[name].parse(text)

    def string(self, name: str, mechanism: str | None = None) -> str | None:
        """A value of type string, class or password; None when unset or empty."""
        value = self.value(name, mechanism)
        assert value is None or isinstance(value, str), name
        return value or None

    def integer(self, name: str, mechanism: str | None = None) -> int:
        """A value of a whole number that is set."""
        value = self.value(name, mechanism)
        assert isinstance(value, int), name
        return value

    def items(self, name: str, mechanism: str | None = None) -> tuple[str, ...]:
        """A value of type list; empty when unset."""
        value = self.value(name, mechanism) or ()
        assert isinstance(value, tuple), name
        return value
