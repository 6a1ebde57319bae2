"""RemoveDelegationTokenRecord (record type 26 of the metadata log), version 0, flexible since 0.

A delegation token that is gone (KIP-900).
"""

from kafkalite.wire.fields import string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(26, versions=(0, 0))
class RemoveDelegationTokenRecord:
    token_id: str = field(string)
