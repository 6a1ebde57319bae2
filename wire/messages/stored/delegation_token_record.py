"""DelegationTokenRecord (record type 10 of the metadata log), version 0, flexible since 0.

A delegation token (KIP-900).
"""

from kafkalite.wire.fields import int64, string
from kafkalite.wire.schema import array, field, metadata_record


@metadata_record(10, versions=(0, 0))
class DelegationTokenRecord:
    owner: str = field(string)
    requester: str = field(string)
    renewers: list[str] = array(string)
    issue_timestamp: int = field(int64)
    max_timestamp: int = field(int64)
    expiration_timestamp: int = field(int64)
    token_id: str = field(string)
