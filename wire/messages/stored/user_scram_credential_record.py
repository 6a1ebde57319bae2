"""UserScramCredentialRecord (record type 11 of the metadata log), version 0, flexible since 0.

A SCRAM credential (KIP-900).
"""

from kafkalite.wire.fields import bytes_, int8, int32, string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(11, versions=(0, 0))
class UserScramCredentialRecord:
    name: str = field(string)
    mechanism: int = field(int8)
    salt: bytes = field(bytes_, sensitive=True)
    stored_key: bytes = field(bytes_, sensitive=True)
    server_key: bytes = field(bytes_, sensitive=True)
    iterations: int = field(int32)
