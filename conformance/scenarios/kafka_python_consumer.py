"""A kafka-python consumer that does not hang by itself.

kafka-python 3.0.12, given its topics at once, misses the wake-up of its own metadata loop about one
time in forty: it joins with no partitions known, is assigned none, and never asks again, on Apache
Kafka as well as here. A consumer that has asked for the topic's metadata before it subscribes does
not.

It also loses a rejoin whose `poll` ends while the group answers: its heartbeats stay off, and it
never hears of the next rebalance. So members poll for POLL_MS, which is longer than an answer takes
on a busy machine.
"""

from typing import Any, Final

from kafka import KafkaConsumer

POLL_MS: Final = 500


def subscribed_consumer(*topics: str, **options: Any) -> KafkaConsumer:
    """KafkaConsumer(*topics, **options), in the order that is safe."""
    consumer = KafkaConsumer(**options)
    for topic in topics:
        consumer.partitions_for_topic(topic)
    if topics:
        consumer.subscribe(topics)
    return consumer
