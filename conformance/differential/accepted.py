"""The differences that stay, each with its reason: better on purpose, or out of reach by nature.

What users are promised to be better (ready when answered, no delay of the first join, a parked
Fetch answered early) shows in when an answer comes, not in what it says, and so needs no entry
here: the referee waits for Apache Kafka (`Side.settle`), and asks again where it says "not yet".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalite.wire.api_keys import ApiKey


@dataclass(frozen=True)
class Accepted:
    """Differences of this API whose path matches are counted, not raised.

    With `is_order` the items of a list are the same, in another order.
    """

    api: ApiKey
    path: str
    reason: str
    is_order: bool = False

    def is_about(self, where: str) -> bool:
        """True for a difference at `API v1.path`."""
        api, _, path = where.partition(" ")
        return self.api.name == api and re.fullmatch(rf"v\d+{self.path}", path) is not None


ANOTHER_ORDER = "another order"
_HASH = "Kafka's order is that of a hash table, ours that of the request or of the names"
_OUTCOME = (
    "Kafka puts what it refuses at once before what it carries out; here the order is the "
    "request's, and clients look each answer up by its name and number"
)
_SHUFFLED = "Kafka shuffles its answers, so that their order tells nothing"


def _order(reason: str, **paths: str) -> tuple[Accepted, ...]:
    """An entry for each API and list."""
    return tuple(Accepted(ApiKey[api], path, reason, is_order=True) for api, path in paths.items())


ORDERS = (
    *_order(
        _HASH,
        ADD_PARTITIONS_TO_TXN=r"\.results_by_.*",
        ALTER_CLIENT_QUOTAS=r"\.entries",
        ALTER_CONFIGS=r"\.responses",
        ALTER_PARTITION_REASSIGNMENTS=r"\.responses.*",
        ALTER_REPLICA_LOG_DIRS=r"\.results.*",
        ALTER_SHARE_GROUP_OFFSETS=r"\.responses.*",
        ALTER_USER_SCRAM_CREDENTIALS=r"\.results",
        API_VERSIONS=r"\.(supported|finalized)_features",
        CONSUMER_GROUP_DESCRIBE=r"\.groups.*",
        CONSUMER_GROUP_HEARTBEAT=r"\.assignment\..*",
        # Observers come by their random directory ids; only brokers under controllers are some.
        DESCRIBE_QUORUM=r"\.topics.*\.observers",
        CREATE_TOPICS=r"\.topics(\[\]\.configs)?",
        DELETE_ACLS=r"\.filter_results\[\]\.matching_acls",
        DELETE_GROUPS=r"\.results",
        DELETE_RECORDS=r"\.topics.*",
        DELETE_SHARE_GROUP_STATE=r"\.results.*",
        DESCRIBE_ACLS=r"\.resources.*",
        DESCRIBE_CLIENT_QUOTAS=r"\.entries",
        DESCRIBE_CLUSTER=r"\.brokers",
        DESCRIBE_CONFIGS=r"\.results(\[\]\.configs)?",
        DESCRIBE_DELEGATION_TOKEN=r"\.tokens",
        DESCRIBE_GROUPS=r"\.groups(\[\]\.members(\[\]\.member_assignment\..*)?)?",
        DESCRIBE_LOG_DIRS=r"\.results.*",
        DESCRIBE_PRODUCERS=r"\.topics.*",
        DESCRIBE_SHARE_GROUP_OFFSETS=r"\.groups.*",
        DESCRIBE_TOPIC_PARTITIONS=r"\.topics",
        DESCRIBE_TRANSACTIONS=r"\.transaction_states.*",
        DESCRIBE_USER_SCRAM_CREDENTIALS=r"\.results.*",
        ELECT_LEADERS=r"\.replica_election_results.*",
        INCREMENTAL_ALTER_CONFIGS=r"\.responses",
        INITIALIZE_SHARE_GROUP_STATE=r"\.results.*",
        JOIN_GROUP=r"\.members",
        LIST_CONFIG_RESOURCES=r"\.config_resources",
        LIST_GROUPS=r"\.groups",
        LIST_OFFSETS=r"\.topics.*",
        LIST_PARTITION_REASSIGNMENTS=r"\.topics.*",
        LIST_TRANSACTIONS=r"\.transaction_states",
        METADATA=r"\.(topics|brokers)",
        OFFSET_FETCH=r"\.(groups|topics).*",
        OFFSET_FOR_LEADER_EPOCH=r"\.topics.*",
        PRODUCE=r"\.(responses|node_endpoints).*",
        READ_SHARE_GROUP_STATE=r"\.results.*",
        READ_SHARE_GROUP_STATE_SUMMARY=r"\.results.*",
        SHARE_ACKNOWLEDGE=r"\.responses.*",
        SHARE_FETCH=r"\.responses.*",
        SHARE_GROUP_DESCRIBE=r"\.groups.*",
        SHARE_GROUP_HEARTBEAT=r"\.assignment\..*",
        STREAMS_GROUP_DESCRIBE=r"\.groups.*",
        STREAMS_GROUP_HEARTBEAT=r"\.(partitions_by_user_endpoint|(active|standby|warmup)_tasks).*",
        SYNC_GROUP=r"\.assignment\..*",
        WRITE_SHARE_GROUP_STATE=r"\.results.*",
    ),
    *_order(
        _OUTCOME,
        CREATE_PARTITIONS=r"\.results",
        DELETE_SHARE_GROUP_OFFSETS=r"\.responses.*",
        FETCH=r"\.(responses|node_endpoints).*",
        WRITE_TXN_MARKERS=r"\.markers.*",
    ),
    *_order(_SHUFFLED, DELETE_TOPICS=r"\.responses"),
)

# Not compared, each with its reason: names, instead of what no two brokers can share.
MASKS = {
    "addresses": "each broker has its own ports",
    "controller id": "Apache Kafka shows its controller to no client: it names any living node",
    "disk sizes": "the disk fills up between two answers",
    "ids": "made up by each broker; the same one has the same name in all answers",
    "metadata offsets": "each metadata log has records of its own broker's life",
    "requests as text": "Kafka shows its Java object with addresses in memory, ours its API's name",
    "times": "each broker has its own clock",
    "tokens": "each broker makes its own tokens, at a time of its own clock",
    "words of RE2": "the words are RE2's own, and Kafka's those of its port to Java",
}

ACCEPTED = (
    Accepted(
        ApiKey.DESCRIBE_CONFIGS,
        r"\.results\[\d+\]\.configs\[\d+\]\.documentation",
        "what a config is for is told in this project's own words",
    ),
    Accepted(
        ApiKey.DESCRIBE_QUORUM,
        r"\.nodes\[\d+\]\.listeners\[\d+\]\.(name|port)",
        "the controller has no listener of its own: "
        "it is in the broker's process, behind its ports",
    ),
    Accepted(
        ApiKey.DESCRIBE_CONFIGS,
        r"\.configs\.(advertised\.listeners|controller\.quorum\.voters|listeners|log\.dirs?|"
        r"metadata\.log\.dir)\b.*",
        "each process has its own ports and directories",
    ),
    Accepted(
        ApiKey.DESCRIBE_CONFIGS,
        r"\.configs\.(broker\.heartbeat\.interval\.ms|broker\.session\.timeout\.ms|"
        r"controller\.listener\.names|inter\.broker\.listener\.name|process\.roles)\b.*",
        "set for Apache Kafka's processes, whose controller is a listener of its own",
    ),
    Accepted(
        ApiKey.DESCRIBE_CONFIGS,
        r"\.configs\.kafkalite\..*",
        "configs of kafkalite's own",
    ),
    *ORDERS,
)

_UNIFORM = (
    "members subscribe to different topics, and of topics with as many partitions and subscribers "
    "Kafka's assignor takes the one with the smaller id first"
)

# Only for a story that comes out alike when it is told again.
BY_CHANCE = (
    Accepted(ApiKey.CONSUMER_GROUP_HEARTBEAT, r"\.(member_epoch|assignment\b.*)", _UNIFORM),
    Accepted(ApiKey.CONSUMER_GROUP_DESCRIBE, r"\.groups\[\d+\]\.members.*", _UNIFORM),
    Accepted(ApiKey.SYNC_GROUP, r"\.assignment\b.*", _UNIFORM),
    Accepted(
        ApiKey.JOIN_GROUP,
        r"\.(leader|member_id|members).*",
        "when a leader leaves, Kafka's next one is the first of a hash table of random member ids",
    ),
    Accepted(
        ApiKey.DESCRIBE_GROUPS,
        r"\.groups\[\d+\]\.members.*",
        "members come in the order of a hash table of random ids, and are named by it",
    ),
)


def by_chance(where: str) -> Accepted | None:
    """The entry for a difference that may not be there when the story is told again."""
    return next((entry for entry in BY_CHANCE if entry.is_about(where)), None)


def accepted(difference: str) -> Accepted | None:
    """The entry that a difference (`API v1.path: ...`) falls under, if there is one."""
    where, _, text = difference.partition(": " if ANOTHER_ORDER in difference else ":")
    is_order = text == ANOTHER_ORDER
    for entry in ACCEPTED:
        if entry.is_order == is_order and entry.is_about(where):
            return entry
    return None
