"""The quotas of one node: bytes, request time, changes of the metadata, connections."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kafkalite.config import BrokerConfig
from kafkalite.security.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    ClientQuota,
    ConnectionRates,
    Quotas,
)
from kafkalite.security.rates import Window


class NodeQuotas:
    """The measurements on one node, over `quota.window.*` and `controller.quota.window.*`."""

    def __init__(self, config: BrokerConfig) -> None:
        def window(prefix: str) -> Window:
            return Window(
                config.integer(f"{prefix}quota.window.num"),
                config.integer(f"{prefix}quota.window.size.seconds") * 1000,
            )

        clients = window("")
        self.produce = ClientQuota(PRODUCER_BYTE_RATE, clients)
        self.fetch = ClientQuota(CONSUMER_BYTE_RATE, clients)
        # No request is held longer than one sample for the time it took.
        self.request = ClientQuota(REQUEST_PERCENTAGE, clients, clients.size_ms)
        self.mutation = ClientQuota(CONTROLLER_MUTATION_RATE, window("controller."))
        self.connections = ConnectionRates(clients)

    def replace(self, quotas: Quotas, addresses: Mapping[str, str] = MappingProxyType({})) -> None:
        """Put these quotas in force. `addresses` has those of the hosts that are named."""
        for quota in (self.produce, self.fetch, self.request, self.mutation):
            quota.replace(quotas)
        self.connections.replace(quotas, addresses)

    @property
    def is_active(self) -> bool:
        """True if any client has a quota."""
        return (
            self.produce.is_active
            or self.fetch.is_active
            or self.request.is_active
            or self.mutation.is_active
        )
