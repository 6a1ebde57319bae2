"""Changes of the metadata log's voters: both brokers have the voters they were configured with."""

from uuid import UUID

import pytest

from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from kafkalite.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

DIRECTORY = UUID(int=7)
NO_DIRECTORY = UUID(int=0)
CONTROLLER = Listener(name="CONTROLLER", host="localhost", port=9093)
LOWER = Listener(name="controller", host="localhost", port=9093)
OTHER = Listener(name="Other", host="no.such.host", port=1)

ADDED = [
    AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=listeners,
    )
    for cluster_id, timeout_ms, voter_id, directory_id, listeners in (
        (None, 1000, 2, DIRECTORY, [CONTROLLER]),
        (None, 1000, 2, DIRECTORY, [LOWER, OTHER]),
        (None, 1000, 2, DIRECTORY, [OTHER]),
        (None, 1000, 2, DIRECTORY, [OTHER, OTHER]),
        (None, 1000, 2, DIRECTORY, []),
        (None, 1000, 1, DIRECTORY, [CONTROLLER]),
        (None, -1, 2, NO_DIRECTORY, [CONTROLLER]),
        (None, 0, -1, DIRECTORY, [CONTROLLER]),
        ("another", 1000, 2, DIRECTORY, [CONTROLLER]),
        ("", 1000, -2, NO_DIRECTORY, []),
    )
]
REMOVED = [
    RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=directory)
    for cluster_id, voter_id, directory in (
        (None, 1, DIRECTORY),
        (None, 2, DIRECTORY),
        (None, -1, DIRECTORY),
        (None, 1, NO_DIRECTORY),
        ("another", 1, DIRECTORY),
    )
]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("request_", ADDED, ids=range(len(ADDED)))
def test_no_voter_is_added(pair: Pair, request_: AddRaftVoterRequest, version: int) -> None:
    pair.ask(ApiKey.ADD_RAFT_VOTER, version, request_)


@pytest.mark.parametrize("request_", REMOVED, ids=range(len(REMOVED)))
def test_no_voter_is_removed(pair: Pair, request_: RemoveRaftVoterRequest) -> None:
    pair.ask(ApiKey.REMOVE_RAFT_VOTER, 0, request_)
