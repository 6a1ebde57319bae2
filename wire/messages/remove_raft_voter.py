"""RemoveRaftVoter (key 81), version 0, flexible since 0.

Removes a voter from the KRaft quorum (KIP-853).
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, uuid
from kafkalite.wire.schema import field, request, response


@request(ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), flexible=0)
class RemoveRaftVoterRequest:
    cluster_id: str | None = field(nullable_string, default="")
    voter_id: int = field(int32)
    voter_directory_id: UUID = field(uuid)


@response(ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), flexible=0)
class RemoveRaftVoterResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
