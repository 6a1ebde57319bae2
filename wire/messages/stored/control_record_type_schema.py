"""ControlRecordTypeSchema, version 0.

The key of a control record: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot
footer, 5 KRaft version, 6 voters.
"""

from kafkalite.wire.fields import int16
from kafkalite.wire.schema import data, field


@data(versions=(0, 0), flexible=None)
class ControlRecordTypeSchema:
    type: int = field(int16)
