"""KRaftVersionRecord, version 0, flexible since 0.

The control record that says which version of KRaft is spoken (KIP-853).
"""

from kafkalite.wire.fields import int16
from kafkalite.wire.schema import field, versioned


@versioned(versions=(0, 0), flexible=0)
class KRaftVersionRecord:
    version: int = field(int16)
    kraft_version: int = field(int16)
