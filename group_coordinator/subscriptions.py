"""What consumers of the classic protocol tell each other, as far as the coordinator looks into it.

Members of a classic consumer group exchange subscriptions and assignments (Kafka's ConsumerProtocol:
an int16 version, then the fields) that are opaque to the broker. It reads them for two things all
the same: to know which topics somebody subscribes to, and to let classic and new members share a
group (KIP-848).
"""

import logging
from collections.abc import Iterable

from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.records import decode

logger = logging.getLogger(__name__)


def subscribed_topics_of(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """All topics in these subscriptions; None if one of them is not Kafka's."""
    topics: set[str] = set()
    for subscription in metadata:
        try:
            topics.update(decode(ConsumerProtocolSubscription, subscription).topics)
        except ProtocolViolation as violation:
            logger.warning("a member's subscription is not a consumer's: %s", violation)
            return None
    return frozenset(topics)
