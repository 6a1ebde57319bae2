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
    AddressLimits,
    ClientQuota,
    ConnectionRates,
    Entity,
    Limits,
    Quotas,
)
from kafkalite.security.rates import Window


class QuotaLimits:
    """All quotas that are in force. The nodes of a broker share them."""

    def __init__(
        self, quotas: Quotas | None = None, addresses: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.produce = Limits(PRODUCER_BYTE_RATE)
        self.fetch = Limits(CONSUMER_BYTE_RATE)
        self.request = Limits(REQUEST_PERCENTAGE)
        self.mutation = Limits(CONTROLLER_MUTATION_RATE)
        self.connections = AddressLimits()
        for entity, values in (quotas or {}).items():
            self.put(entity, values, addresses)

    def put(
        self,
        entity: Entity,
        values: Mapping[str, float],
        addresses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Put an entity's quotas in force, in place of those that it had. `addresses` has those of
        the hosts that are named."""
        for limits in (self.produce, self.fetch, self.request, self.mutation):
            limits.put(entity, values)
        self.connections.put(entity, values, addresses)


class NodeQuotas:
    """The measurements on one node, over `quota.window.*` and `controller.quota.window.*`."""

    def __init__(self, config: BrokerConfig, limits: QuotaLimits) -> None:
        def window(prefix: str) -> Window:
            return Window(
                config.integer(f"{prefix}quota.window.num"),
                config.integer(f"{prefix}quota.window.size.seconds") * 1000,
            )

        clients = window("")
        self.produce = ClientQuota(limits.produce, clients)
        self.fetch = ClientQuota(limits.fetch, clients)
        # No request is held longer than one sample for the time it took.
        self.request = ClientQuota(limits.request, clients, clients.size_ms)
        self.mutation = ClientQuota(limits.mutation, window("controller."))
        self.connections = ConnectionRates(limits.connections, clients)

    @property
    def is_active(self) -> bool:
        """True if any client has a quota."""
        return (
            self.produce.is_active
            or self.fetch.is_active
            or self.request.is_active
            or self.mutation.is_active
        )
