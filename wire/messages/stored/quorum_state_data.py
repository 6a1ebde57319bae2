"""QuorumStateData, versions 0-1, flexible since 0.

What the quorum-state file of KRaft says, which is in JSON (KIP-595).

    1  who was voted for, with its directory (KIP-853)
"""

from uuid import UUID

from kafkalite.wire.fields import int32, int64, string, uuid
from kafkalite.wire.schema import data, field, nullable_array, struct


@struct
class Voter:
    voter_id: int = field(int32)


@data(versions=(0, 1), flexible=0)
class QuorumStateData:
    cluster_id: str = field(string, until=0)
    leader_id: int = field(int32, default=-1)
    leader_epoch: int = field(int32, default=-1)
    voted_id: int = field(int32, default=-1)
    voted_directory_id: UUID = field(uuid, since=1)
    applied_offset: int = field(int64, until=0)
    current_voters: list[Voter] | None = nullable_array(Voter, until=0, default=[])
