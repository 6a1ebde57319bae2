"""AddRaftVoter and its checks in Kafka's order; conformance/differential/test_raft_voters.py."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from kafkalite.wire.messages.metadata import MetadataRequest

CONTROLLER = Listener(name="Controller", host="localhost", port=9093)
OTHER = Listener(name="other", host="localhost", port=1)


def asked(**fields: Any) -> AddRaftVoterRequest:
    values: dict[str, Any] = {
        "cluster_id": None,
        "timeout_ms": 1000,
        "voter_id": 2,
        "voter_directory_id": UUID(int=7),
        "listeners": [OTHER, CONTROLLER],
    }
    return AddRaftVoterRequest(**(values | fields))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({}, ErrorCode.UNSUPPORTED_VERSION, "because the kraft.version feature is 0"),
        ({"voter_id": 1}, ErrorCode.UNSUPPORTED_VERSION, "Cluster doesn't support adding voter"),
        (
            {"listeners": [OTHER]},
            ErrorCode.INVALID_REQUEST,
            "(Endpoints(endpoints={ListenerName(OTHER)=localhost/<unresolved>:1}))",
        ),
        ({"listeners": []}, ErrorCode.INVALID_REQUEST, "(Endpoints(endpoints={}))"),
        (
            {"voter_id": -1, "listeners": []},
            ErrorCode.INVALID_REQUEST,
            "Add voter request didn't include a valid voter",
        ),
        (
            {"voter_directory_id": UUID(int=0)},
            ErrorCode.INVALID_REQUEST,
            "Add voter request didn't include a valid voter",
        ),
        (
            {"cluster_id": "another", "voter_id": -1},
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            'The given id "another" doesn\'t match the cluster id',
        ),
    ],
)
async def test_no_voter_is_added(
    broker: Any, connect: Any, fields: dict[str, Any], code: ErrorCode, words: str, version: int
) -> None:
    client = await connect(broker)
    answer = await client.ask(asked(**fields), version)
    assert answer.error_code == code
    assert words in answer.error_message


async def test_the_broker_s_own_cluster_id_is_the_right_one(broker: Any, connect: Any) -> None:
    client = await connect(broker)
    cluster_id = (await client.ask(MetadataRequest(topics=[]))).cluster_id
    answer = await client.ask(asked(cluster_id=cluster_id))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
