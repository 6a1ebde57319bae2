"""Services: everything that request handlers share, as one frozen value.

Broker builds it and keeps what handlers have no business with: listeners, tasks, starting and
stopping. Several brokers live in one process without knowing of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from kafkalite.cluster.features import GROUP_FEATURES

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster
    from kafkalite.config import BrokerConfig
    from kafkalite.coordinators.share_adapter import ShareServices
    from kafkalite.coordinators.transaction_coordinator.coordinator import TransactionCoordinator
    from kafkalite.group_coordinator.coordinator import GroupCoordinator
    from kafkalite.log.joined_writes import JoinedWrites
    from kafkalite.replica.fetch_sessions import FetchSessionCache
    from kafkalite.replica.partition_logs import PartitionLogs
    from kafkalite.replica.replica_moves import ReplicaMoves
    from kafkalite.replica.topics import Topics
    from kafkalite.security.security import Security
    from kafkalite.telemetry.client_telemetry import ClientTelemetry


class Services(Struct, frozen=True):
    """One broker's parts, by name.

    `now_ms` is the wall clock in milliseconds since the epoch, as written into records.
    `fetch_sessions` are kept per node id.
    """

    config: BrokerConfig
    cluster: Cluster
    topics: Topics
    logs: PartitionLogs
    group_coordinator: GroupCoordinator
    transaction_coordinator: TransactionCoordinator
    share: ShareServices
    fetch_sessions: Mapping[int, FetchSessionCache]
    replica_moves: ReplicaMoves
    security: Security
    telemetry: ClientTelemetry
    joined_writes: JoinedWrites
    now_ms: Callable[[], int]

    def serves_groups(self, kind: str) -> bool:
        """True unless "consumer", "share" or "streams" groups are switched off.

        That is asked before anything else of a request (KafkaApis.isShareGroupProtocolEnabled and
        the like). The config of protocols does not name share groups.
        """
        if not self.cluster.features.get(GROUP_FEATURES[kind], 0):
            return False
        return kind == "share" or kind in self.group_coordinator.config.rebalance_protocols
