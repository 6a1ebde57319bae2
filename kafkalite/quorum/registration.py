"""A broker's registration: its words about itself, and the meaning of a refusal.

`previous_broker_epoch` is the epoch that the last clean shutdown left behind; without it the
controllers take the last shutdown for an unclean one (KIP-966). Source: ClusterControlManager.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID, uuid4

from kafkalite.log.loggers import logger_of
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

logger = logger_of(__name__)

# Errors that no second attempt changes, and the advice for each.
_FINAL: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: "they belong to another cluster than the data directory",
    ErrorCode.UNSUPPORTED_VERSION: (
        "a feature of the cluster is finalized at a level that this broker does not support; "
        "kafka-features --bootstrap-controller ... downgrade can lower it"
    ),
    ErrorCode.INVALID_REGISTRATION: (
        "the registration is not valid; a log directory may be one of another broker"
    ),
}


class RegistrationRefused(Exception):
    """The controllers do not let this broker in; the message says why."""


class Registration:
    """One process' registration: its incarnation id is new with every start."""

    def __init__(
        self,
        node_id: int,
        cluster_id: str,
        *,
        listeners: Sequence[Listener],
        features: Mapping[str, tuple[int, int]],
        directory_ids: Sequence[UUID],
        rack: str | None = None,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.node_id = node_id
        self.incarnation_id = uuid4()
        self._cluster_id = cluster_id
        self._listeners = list(listeners)
        self._features = dict(features)
        self._directory_ids = sorted(directory_ids)
        self._rack = rack
        self._previous_broker_epoch = previous_broker_epoch
        self._complaint: ErrorCode | None = None

    def request(self) -> BrokerRegistrationRequest:
        """The whole of it."""
        return BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self._cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=self._listeners,
            features=[
                Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in self._features.items()
            ],
            rack=self._rack,
            log_dirs=self._directory_ids,
            previous_broker_epoch=self._previous_broker_epoch,
        )

    def refused(self, code: ErrorCode, *, is_first: bool) -> None:
        """Raise RegistrationRefused where trying again is no use; else say what is waited for.

        A broker that was let in before (not `is_first`) serves on, and keeps trying.
        """
        if is_first and code in _FINAL:
            raise RegistrationRefused(f"the controllers refuse this broker: {_FINAL[code]}")
        if code is not self._complaint:
            self._complaint = code
            if code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                logger.warning(
                    "node id %d is in use: waiting for the session of its last broker to end",
                    self.node_id,
                )
            else:
                logger.warning("the controllers refuse this broker for now: %s", code.name)
