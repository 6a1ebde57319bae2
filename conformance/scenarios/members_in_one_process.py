"""Many librdkafka consumers of one group: `python -m conformance.scenarios.members_in_one_process`.

With BOOTSTRAP TOPIC GROUP PROTOCOL COUNT behind it. Prints, as one line of JSON, the partition of
each consumer when every one has one of its own, and goes on being a member until it is killed.

It is a process of its own, and is killed, because closing many consumers at once is not safe: an
assignment that comes while a consumer closes is waited for in rd_kafka_assign() for ever, and the
interpreter with it (librdkafka issue 4884).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from confluent_kafka import Consumer


def partitions_of(consumers: list[Consumer]) -> list[int] | None:
    """Each consumer's, once each has a single one and no two the same."""
    assigned = [[p.partition for p in consumer.assignment()] for consumer in consumers]
    if any(len(of_one) != 1 for of_one in assigned):
        return None
    partitions = [of_one[0] for of_one in assigned]
    return partitions if len(set(partitions)) == len(consumers) else None


def main() -> None:
    bootstrap, topic, group, protocol, count = sys.argv[1:]
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 5000,  # nothing will come: not hundreds of empty fetches at a time
        "log_level": 0,
    }
    if protocol == "classic":
        config |= {"partition.assignment.strategy": "range", "heartbeat.interval.ms": 500}
    consumers = [Consumer(config) for _ in range(int(count))]
    for consumer in consumers:
        consumer.subscribe([topic])
    told = False
    while True:
        for consumer in consumers:
            consumer.poll(0)
        if not told and (partitions := partitions_of(consumers)):
            print(json.dumps(partitions), flush=True)
            told = True
        time.sleep(0.05)


if __name__ == "__main__":
    main()
