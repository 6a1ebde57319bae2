"""THE table: every API the broker serves, by key, and the versions it promises.

Dispatch, the ApiVersions answer and the table in the README all derive from it; an API that is not
here is neither served nor advertised. A handler lives in `kafkalite/apis/<name>.py` as

    def handle(services, context, request) -> response | None

and is imported for the first request that needs it, which keeps the start short. A handler that may
have to wait is an `async def`, or returns a coroutine when it has to.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from kafkalite.config.releases import Release
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compile_rows import machine_code_of

# Each handler takes and returns the messages or rows of its API; the table holds them all.
# tests/kafkalite/apis/test_table.py compares their annotations with the API's messages.
# Returns the response, None if there is none, or a coroutine of either.
Handler = Callable[[Any, Any, Any], Any]


class Api(Struct, frozen=True):
    """One API: its key, the versions served, and where advertising starts if that is lower.

    `rows`: the handler takes and returns rows (wire/rows.py), as one of the hot APIs.
    `waits`: the handler runs in the connection's task from its beginning, so it may await whatever
    it likes. All others await `ClientConnection.move_to_task` before they await anything else.
    `answers_any_version`: a request in an unknown version is answered, not refused (KIP-511); the
    handler's module has `unsupported_version()`.
    `forwarded`: only a controller decides; where that is another process, it is asked (KIP-590).
    The handler's module may have `refused(context, request)`: the response if none need be asked.
    `offered_by`: the config without which it is served, but not advertised.
    `groups`: the type of groups that it is for. While that is switched off, all who ask, authorized
    or not, get UNSUPPORTED_VERSION (`Services.serves_groups`).
    `needs`: modules below `kafkalite` that a coordinator imports at its first need. They are loaded
    with the handler, so that no turn of the loop imports them.
    """

    key: ApiKey
    min_version: int
    max_version: int
    advertised_from: int | None = None
    rows: bool = False
    waits: bool = False
    answers_any_version: bool = False
    forwarded: bool = False
    offered_by: str = ""
    groups: str = ""
    needs: tuple[str, ...] = ()

    @property
    def advertised_min_version(self) -> int:
        return self.min_version if self.advertised_from is None else self.advertised_from

    @property
    def is_loaded(self) -> bool:
        """True if `load` was called before, and takes no time."""
        return self.key in _loaded

    def load(self) -> Handler:
        """Import the handler. The first time this may take 100 ms; a thread may do it."""
        handle = cast(Handler, self._module().handle)
        for name in self.needs:
            importlib.import_module(f"kafkalite.{name}")
        if self.rows:
            machine_code_of(self.key.name.lower())
        _loaded.add(self.key)
        return handle

    def unsupported_version(self) -> object:
        """The response, in version 0, to a request of a version that is not known."""
        return self._module().unsupported_version()

    def refused(self, context: object, request: object) -> Any:
        """The response, or a coroutine of it, if no controller needs to be asked; else None."""
        check = getattr(self._module(), "refused", None)
        return None if check is None else check(context, request)

    def _module(self) -> Any:
        return importlib.import_module(f"kafkalite.apis.{self.key.name.lower()}")


_loaded: Final[set[ApiKey]] = set()

SHARE_MODULES: Final = (
    "coordinators.share_coordinator.coordinator",
    "coordinators.share_coordinator.state_log",
    "coordinators.share_settings",
    "group_coordinator.share_api",
    "group_coordinator.share_keeper",
    "group_coordinator.share_protocol",
    "group_coordinator.share_states",
    "replica.share.share_partitions",
)
_TELEMETRY: Final = "kafkalite.client.telemetry"
_INSTANCES: Final = ("telemetry.client_instances", "telemetry.subscriptions")
STREAMS_MODULES: Final = ("group_coordinator.streams_api", "group_coordinator.streams_protocol")

_TABLE: Final = (
    # librdkafka before 2.11 turns compression off unless it sees Produce v0 (KAFKA-18659): Apache
    # Kafka advertises 0-2, and closes the connection when one of them is used.
    Api(ApiKey.PRODUCE, 3, 13, advertised_from=0, rows=True),
    Api(ApiKey.FETCH, 4, 18, rows=True),
    Api(ApiKey.LIST_OFFSETS, 1, 11, rows=True),
    Api(ApiKey.METADATA, 0, 13, rows=True),
    Api(ApiKey.OFFSET_COMMIT, 2, 10, rows=True),
    Api(ApiKey.OFFSET_FETCH, 1, 10, rows=True),
    Api(ApiKey.FIND_COORDINATOR, 0, 6),
    Api(ApiKey.JOIN_GROUP, 0, 9),
    Api(ApiKey.HEARTBEAT, 0, 4, rows=True),
    Api(ApiKey.LEAVE_GROUP, 0, 5),
    Api(ApiKey.SYNC_GROUP, 0, 5, rows=True),
    Api(ApiKey.DESCRIBE_GROUPS, 0, 6),
    Api(ApiKey.LIST_GROUPS, 0, 5),
    Api(ApiKey.SASL_HANDSHAKE, 0, 1),
    Api(ApiKey.API_VERSIONS, 0, 4, answers_any_version=True),
    Api(ApiKey.CREATE_TOPICS, 2, 7, forwarded=True),
    Api(ApiKey.DELETE_TOPICS, 1, 6, forwarded=True),
    Api(ApiKey.DELETE_RECORDS, 0, 2),
    Api(ApiKey.INIT_PRODUCER_ID, 0, 5),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, rows=True),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, rows=True),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4),
    Api(ApiKey.END_TXN, 0, 5, rows=True),
    Api(ApiKey.WRITE_TXN_MARKERS, 1, 2),
    Api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, rows=True),
    Api(ApiKey.DESCRIBE_ACLS, 1, 3),
    Api(ApiKey.CREATE_ACLS, 1, 3, forwarded=True),
    Api(ApiKey.DELETE_ACLS, 1, 3, forwarded=True),
    Api(ApiKey.DESCRIBE_CONFIGS, 1, 4),
    Api(ApiKey.ALTER_CONFIGS, 0, 2, forwarded=True),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5),
    Api(ApiKey.SASL_AUTHENTICATE, 0, 2),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3, forwarded=True),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3, forwarded=True),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, 1, 2, forwarded=True),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2, forwarded=True),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3),
    Api(ApiKey.DELETE_GROUPS, 0, 2),
    Api(ApiKey.ELECT_LEADERS, 0, 2, forwarded=True),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, forwarded=True),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, forwarded=True),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, forwarded=True),
    Api(ApiKey.OFFSET_DELETE, 0, 0),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, forwarded=True),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, forwarded=True),
    Api(ApiKey.DESCRIBE_QUORUM, 0, 2, forwarded=True),
    Api(ApiKey.UPDATE_FEATURES, 0, 2, forwarded=True),
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0, forwarded=True),
    Api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0, offered_by=_TELEMETRY, needs=_INSTANCES),
    Api(ApiKey.PUSH_TELEMETRY, 0, 0, offered_by=_TELEMETRY, needs=_INSTANCES),
    Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0),
    Api(ApiKey.LIST_TRANSACTIONS, 0, 2),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, rows=True),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, groups="consumer", rows=True),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, groups="consumer"),
    Api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, groups="share", needs=SHARE_MODULES, rows=True),
    Api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1, groups="share", needs=SHARE_MODULES),
    Api(ApiKey.SHARE_FETCH, 1, 2, groups="share", needs=SHARE_MODULES),
    Api(ApiKey.SHARE_ACKNOWLEDGE, 1, 2, groups="share", needs=SHARE_MODULES),
    Api(ApiKey.ADD_RAFT_VOTER, 0, 1, forwarded=True),
    Api(ApiKey.REMOVE_RAFT_VOTER, 0, 0, forwarded=True),
    Api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0, needs=SHARE_MODULES),
    Api(ApiKey.READ_SHARE_GROUP_STATE, 0, 0, needs=SHARE_MODULES),
    Api(ApiKey.WRITE_SHARE_GROUP_STATE, 0, 1, needs=SHARE_MODULES),
    Api(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0, needs=SHARE_MODULES),
    Api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 0, 1, needs=SHARE_MODULES),
    Api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 0, groups="streams", needs=STREAMS_MODULES, rows=True),
    Api(ApiKey.STREAMS_GROUP_DESCRIBE, 0, 0, groups="streams", needs=STREAMS_MODULES),
    Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1, groups="share", needs=SHARE_MODULES),
    Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0, groups="share", needs=SHARE_MODULES),
    Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0, groups="share", needs=SHARE_MODULES),
)

APIS: Final[dict[int, Api]] = {api.key: api for api in _TABLE}


def apis_of(release: Release | None) -> Mapping[int, Api]:
    """The APIs of a broker that looks like this release, with the versions that both have."""
    if release is None:
        return APIS
    return {
        key: replace(api, max_version=min(api.max_version, release.apis[key][1]))
        for key, api in APIS.items()
        if key in release.apis and release.apis[key][1] >= api.min_version
    }
