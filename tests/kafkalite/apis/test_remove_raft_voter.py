"""RemoveRaftVoter: refused as AddRaftVoter is, in words of its own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.remove_raft_voter import RemoveRaftVoterRequest


@pytest.mark.parametrize(
    ("cluster_id", "voter_id", "directory", "code", "words"),
    [
        (
            None,
            1,
            UUID(int=7),
            ErrorCode.UNSUPPORTED_VERSION,
            "Cluster doesn't support removing voter because the kraft.version feature is 0",
        ),
        (
            None,
            -1,
            UUID(int=7),
            ErrorCode.INVALID_REQUEST,
            "Remove voter request didn't include a valid voter",
        ),
        (
            None,
            1,
            UUID(int=0),
            ErrorCode.INVALID_REQUEST,
            "Remove voter request didn't include a valid voter",
        ),
        (
            "another",
            1,
            UUID(int=7),
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            'The given id "another" doesn\'t match the cluster id',
        ),
    ],
)
async def test_no_voter_is_removed(
    broker: Any,
    connect: Any,
    cluster_id: str | None,
    voter_id: int,
    directory: UUID,
    code: ErrorCode,
    words: str,
) -> None:
    client = await connect(broker)
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=directory
    )
    answer = await client.ask(request)
    assert answer.error_code == code
    assert words in answer.error_message
