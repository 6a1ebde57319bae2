"""Quotas that a test puts in force as a whole, in place of all that there were."""

from __future__ import annotations

from typing import Any, Protocol

from kafkalite.config import BrokerConfig
from kafkalite.security.node_quotas import NodeQuotas, QuotaLimits
from kafkalite.security.quotas import (
    AddressLimits,
    ClientQuota,
    ConnectionRates,
    Entity,
    Limits,
    Quotas,
)
from kafkalite.security.rates import Window


class _Limits(Protocol):
    def put(self, entity: Entity, values: Any) -> None: ...


class InForce:
    """The quotas in `limits`."""

    def __init__(self, limits: _Limits) -> None:
        self._limits = limits
        self._entities: set[Entity] = set()

    def replace(self, quotas: Quotas) -> None:
        for entity in self._entities - quotas.keys():
            self._limits.put(entity, {})
        for entity, values in quotas.items():
            self._limits.put(entity, values)
        self._entities = set(quotas)


class OneQuota(ClientQuota):
    def __init__(self, key: str, window: Window) -> None:
        limits = Limits(key)
        super().__init__(limits, window)
        self.replace = InForce(limits).replace


class OneRate(ConnectionRates):
    def __init__(self, window: Window) -> None:
        limits = AddressLimits()
        super().__init__(limits, window)
        self.replace = InForce(limits).replace


class OneNode(NodeQuotas):
    def __init__(self, config: BrokerConfig) -> None:
        limits = QuotaLimits()
        super().__init__(config, limits)
        self.replace = InForce(limits).replace
