"""RemoveUserScramCredentialRecord (record type 22 of the metadata log), version 0,
flexible since 0.

A SCRAM credential that is gone (KIP-900).
"""

from kafkalite.wire.fields import int8, string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(22, versions=(0, 0))
class RemoveUserScramCredentialRecord:
    name: str = field(string)
    mechanism: int = field(int8)
