"""ConsumerGroupRegularExpression (record type 16 of __consumer_offsets), version 0,
flexible since 0.

The topics that a regular expression was found to match (KIP-848).
"""

from kafkalite.wire.fields import int64, string
from kafkalite.wire.schema import array, field, record_key, record_value


@record_key(16)
class ConsumerGroupRegularExpressionKey:
    group_id: str = field(string)
    regular_expression: str = field(string)


@record_value(16, versions=(0, 0), flexible=0)
class ConsumerGroupRegularExpressionValue:
    topics: list[str] = array(string)
    version: int = field(int64)
    timestamp: int = field(int64)
