"""Control Record Type Schema."""

from kafkalite.wire.declare import data, field
from kafkalite.wire.fields import int16


@data(versions=(0, 0), flexible=None)
class ControlRecordTypeSchema:
    type: int = field(int16)
