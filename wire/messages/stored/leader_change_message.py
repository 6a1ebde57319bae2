"""LeaderChangeMessage, versions 0-1, flexible since 0.

The control record with which a KRaft leader begins its epoch (KIP-595).

    1  directory ids of voters (KIP-853)
"""

from uuid import UUID

from kafkalite.wire.fields import int16, int32, uuid
from kafkalite.wire.schema import array, field, struct, versioned


@struct
class Voter:
    voter_id: int = field(int32)
    voter_directory_id: UUID = field(uuid, since=1)


@versioned(versions=(0, 1), flexible=0)
class LeaderChangeMessage:
    version: int = field(int16)
    leader_id: int = field(int32)
    voters: list[Voter] = array(Voter)
    granting_voters: list[Voter] = array(Voter)
