"""Nothing was forgotten: runs last, over what the other files of this folder have asked.

Left out when only some of them run: then it says nothing.
"""

from __future__ import annotations

import pytest

from conformance.differential.pair import Pair, Tally
from conformance.differential.summary import PAIRS, served
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode as Code

# The error codes that Kafka gives about topics and configs to a client that does something wrong.
ERRORS: dict[ApiKey, set[Code]] = {
    ApiKey.METADATA: {
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.INVALID_TOPIC_EXCEPTION,
        Code.UNKNOWN_TOPIC_ID,
        Code.INVALID_REQUEST,
    },
    ApiKey.CREATE_TOPICS: {
        Code.INVALID_REQUEST,
        Code.TOPIC_ALREADY_EXISTS,
        Code.INVALID_TOPIC_EXCEPTION,
        Code.INVALID_REPLICATION_FACTOR,
        Code.INVALID_PARTITIONS,
        Code.INVALID_REPLICA_ASSIGNMENT,
        Code.INVALID_CONFIG,
    },
    ApiKey.CREATE_PARTITIONS: {
        Code.INVALID_PARTITIONS,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.INVALID_REPLICA_ASSIGNMENT,
    },
    ApiKey.DELETE_TOPICS: {
        Code.INVALID_REQUEST,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.UNKNOWN_TOPIC_ID,
    },
    ApiKey.DESCRIBE_CONFIGS: {Code.UNKNOWN_TOPIC_OR_PARTITION, Code.INVALID_REQUEST},
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {
        Code.INVALID_REQUEST,
        Code.INVALID_CONFIG,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
    ApiKey.ALTER_CONFIGS: {
        Code.INVALID_REQUEST,
        Code.INVALID_CONFIG,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    },
    ApiKey.DESCRIBE_CLUSTER: {
        Code.MISMATCHED_ENDPOINT_TYPE,
        Code.UNSUPPORTED_ENDPOINT_TYPE,
        Code.INVALID_REQUEST,
    },
}


@pytest.fixture
def scripts(pytestconfig: pytest.Config, pair: Pair) -> Tally:
    """What the scripts have compared, on whatever brokers (`pair`: not without Apache Kafka)."""
    found = Tally()
    assert pair in pytestconfig.stash[PAIRS]
    for each in pytestconfig.stash[PAIRS]:
        for source in {"scripts", "three nodes"} & each.tallies.keys():
            found.requests += each.tallies[source].requests
            found.errors += each.tallies[source].errors
    return found


def test_scripts_ask_every_api_in_every_version(scripts: Tally) -> None:
    missing = [
        f"{api.name} v{version}" for api, version in served() if not scripts.requests[api, version]
    ]
    assert not missing


@pytest.mark.parametrize("api", ERRORS, ids=lambda api: api.name)
def test_scripts_meet_every_error(scripts: Tally, api: ApiKey) -> None:
    met = {code for asked, code in scripts.errors if asked is api}
    assert ERRORS[api] <= met
