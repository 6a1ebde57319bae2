"""FeatureLevelRecord (record type 12 of the metadata log), version 0, flexible since 0.

A finalized feature, such as metadata.version.
"""

from kafkalite.wire.fields import int16, string
from kafkalite.wire.schema import field, metadata_record


@metadata_record(12, versions=(0, 0))
class FeatureLevelRecord:
    name: str = field(string)
    feature_level: int = field(int16)
