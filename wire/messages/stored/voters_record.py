"""VotersRecord, version 0, flexible since 0.

The control record that names the voters of KRaft (KIP-853).
"""

from uuid import UUID

from kafkalite.wire.fields import int16, int32, string, uint16, uuid
from kafkalite.wire.schema import array, field, nested, struct, versioned


@struct
class Endpoint:
    name: str = field(string)
    host: str = field(string)
    port: int = field(uint16)


@struct
class KRaftVersionFeature:
    min_supported_version: int = field(int16)
    max_supported_version: int = field(int16)


@struct
class Voter:
    voter_id: int = field(int32)
    voter_directory_id: UUID = field(uuid)
    endpoints: list[Endpoint] = array(Endpoint)
    kraft_version_feature: KRaftVersionFeature = nested(KRaftVersionFeature)


@versioned(versions=(0, 0), flexible=0)
class VotersRecord:
    version: int = field(int16)
    voters: list[Voter] = array(Voter)
