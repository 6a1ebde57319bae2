"""THE table: every API the broker serves, by key, and the versions it promises.

Dispatch, the ApiVersions answer and the table in the README all derive from it; what is not here is
not served and not advertised. A handler lives in `kafkalite/apis/<name>.py` as

    async def handle(services, context, request) -> response | None

and is imported by the first request that needs it, which keeps the start short.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from kafkalite.wire.api_keys import ApiKey

# What each handler takes and returns differs by API, and the table holds them all.
Handler = Callable[[Any, Any, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its key, the versions served, and where advertising starts if that is lower.

    `immediate`: the handler never waits for anything, or awaits `Connection.move_to_task` first; so the
    poller's task may call it itself, and its answer be sent with the next.
    """

    key: ApiKey
    min_version: int
    max_version: int
    advertised_from: int | None = None
    immediate: bool = False

    @property
    def advertised_min_version(self) -> int:
        return self.min_version if self.advertised_from is None else self.advertised_from

    def load(self) -> Handler:
        """Import the handler."""
        module = importlib.import_module(f"kafkalite.apis.{self.key.name.lower()}")
        return cast(Handler, module.handle)


_TABLE: Final = (
    # librdkafka before 2.11 turns compression off unless it sees Produce v0 (KAFKA-18659): Apache
    # Kafka advertises 0-2, and closes the connection when one of them is used.
    Api(ApiKey.PRODUCE, 3, 13, advertised_from=0, immediate=True),
    Api(ApiKey.FETCH, 4, 18, immediate=True),
    Api(ApiKey.LIST_OFFSETS, 1, 11, immediate=True),
    Api(ApiKey.METADATA, 0, 13, immediate=True),
    Api(ApiKey.OFFSET_COMMIT, 2, 10, immediate=True),
    Api(ApiKey.OFFSET_FETCH, 1, 10, immediate=True),
    Api(ApiKey.FIND_COORDINATOR, 0, 6, immediate=True),
    Api(ApiKey.JOIN_GROUP, 0, 9),
    Api(ApiKey.HEARTBEAT, 0, 4, immediate=True),
    Api(ApiKey.LEAVE_GROUP, 0, 5, immediate=True),
    Api(ApiKey.SYNC_GROUP, 0, 5),
    Api(ApiKey.DESCRIBE_GROUPS, 0, 6, immediate=True),
    Api(ApiKey.LIST_GROUPS, 0, 5, immediate=True),
    Api(ApiKey.API_VERSIONS, 0, 4, immediate=True),
    Api(ApiKey.CREATE_TOPICS, 2, 7, immediate=True),
    Api(ApiKey.DELETE_TOPICS, 1, 6, immediate=True),
    Api(ApiKey.DELETE_RECORDS, 0, 2, immediate=True),
    Api(ApiKey.INIT_PRODUCER_ID, 0, 5, immediate=True),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, immediate=True),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, immediate=True),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, immediate=True),
    Api(ApiKey.END_TXN, 0, 5, immediate=True),
    Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, immediate=True),
    Api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, immediate=True),
    Api(ApiKey.DESCRIBE_CONFIGS, 1, 4, immediate=True),
    Api(ApiKey.ALTER_CONFIGS, 0, 2, immediate=True),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2, immediate=True),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, immediate=True),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3, immediate=True),
    Api(ApiKey.DELETE_GROUPS, 0, 2, immediate=True),
    Api(ApiKey.ELECT_LEADERS, 0, 2, immediate=True),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, immediate=True),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, immediate=True),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, immediate=True),
    Api(ApiKey.OFFSET_DELETE, 0, 0, immediate=True),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1, immediate=True),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, immediate=True),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, immediate=True),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, immediate=True),
    Api(ApiKey.DESCRIBE_QUORUM, 0, 2, immediate=True),
    Api(ApiKey.UPDATE_FEATURES, 0, 2, immediate=True),
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, immediate=True),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0, immediate=True),
    Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, immediate=True),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, immediate=True),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, immediate=True),
    Api(ApiKey.LIST_TRANSACTIONS, 0, 2, immediate=True),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, immediate=True),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, immediate=True),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, immediate=True),
)

APIS: Final[dict[int, Api]] = {api.key: api for api in _TABLE}
