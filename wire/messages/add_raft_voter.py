"""AddRaftVoter (key 80), versions 0-1, flexible since 0.

Adds a voter to the KRaft quorum (KIP-853).

    1  ack_when_committed: whether to answer once the change is committed
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, nullable_string, string, uint16, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class Listener:
    name: str = field(string)
    host: str = field(string)
    port: int = field(uint16)


@request(ApiKey.ADD_RAFT_VOTER, versions=(0, 1), flexible=0)
class AddRaftVoterRequest:
    cluster_id: str | None = field(nullable_string, default="")
    timeout_ms: int = field(int32)
    voter_id: int = field(int32)
    voter_directory_id: UUID = field(uuid)
    listeners: list[Listener] = array(Listener)
    ack_when_committed: bool = field(boolean, since=1, default=True)


@response(ApiKey.ADD_RAFT_VOTER, versions=(0, 1), flexible=0)
class AddRaftVoterResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
