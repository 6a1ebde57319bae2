"""The strict reader: every number of every partition once, in order, and nothing that was
aborted."""

from __future__ import annotations

import threading

from confluent_kafka import Consumer, TopicPartition


class Judge(threading.Thread):
    """Reads the output while it is written; stops at the first thing that is wrong."""

    def __init__(self, bootstrap: str, topics: list[str], partition_count: int) -> None:
        super().__init__(daemon=True)
        self.next = {(topic, i): 0 for topic in topics for i in range(partition_count)}
        self.verdict: str | None = None
        self.enough = threading.Event()
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "judge",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self.consumer.assign([TopicPartition(*partition, 0) for partition in self.next])

    def run(self) -> None:
        while not self.enough.is_set() and self.verdict is None:
            for message in self.consumer.consume(1000, 0.2):
                if message.error() is not None:
                    if not message.error().retriable() and message.error().fatal():
                        self.verdict = str(message.error())
                    continue
                partition = message.topic(), message.partition()
                value, expected = message.value(), b"%d" % self.next[partition]
                if value != expected:
                    self.verdict = (
                        f"{partition[0]}-{partition[1]}, offset {message.offset()}: "
                        f"{value!r} where {expected!r} comes next"
                    )
                    return
                self.next[partition] += 1
        self.consumer.close()
