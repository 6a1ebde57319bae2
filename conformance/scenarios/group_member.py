"""A group member as a process: `python -m conformance.scenarios.group_member CLIENT BOOTSTRAP TOPIC
GROUP`.

It prints the value of each record that it reads, one a line, commits as it goes, and leaves its
group at SIGTERM. CLIENT is librdkafka-classic, librdkafka-consumer, kafka-python or aiokafka.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import Any

stopping = False
# what the two clients in Python name alike
OPTIONS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "auto_commit_interval_ms": 200,
    "heartbeat_interval_ms": 300,
}


def stop(*_: object) -> None:
    global stopping
    stopping = True


def show(value: bytes | None) -> None:
    print((value or b"").decode(), flush=True)


def librdkafka(protocol: str, bootstrap: str, topic: str, group: str) -> None:
    from confluent_kafka import Consumer

    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 200,
        "log_level": 0,
    }
    if protocol == "classic":
        config["heartbeat.interval.ms"] = 300
    consumer = Consumer(config)
    consumer.subscribe([topic])
    while not stopping:
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            show(message.value())
    consumer.close()


def kafka_python(bootstrap: str, topic: str, group: str) -> None:
    from kafka.errors import RetriableError

    from conformance.scenarios.kafka_python_consumer import POLL_MS, subscribed_consumer

    consumer = subscribed_consumer(
        topic,
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        **OPTIONS,
        reconnect_backoff_max_ms=1000,  # not thirty seconds
    )
    while not stopping:
        # `poll` may raise that no broker could be reached; asked again, the consumer goes on.
        with suppress(RetriableError):
            for batch in consumer.poll(POLL_MS).values():
                for record in batch:
                    show(record.value)
    consumer.close()


async def aiokafka(bootstrap: str, topic: str, group: str) -> None:
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        **OPTIONS,
    )
    await consumer.start()
    while not stopping:
        for batch in (await consumer.getmany(timeout_ms=100)).values():
            for record in batch:
                show(record.value)
    await consumer.stop()


def main() -> None:
    client, *where = sys.argv[1:]
    signal.signal(signal.SIGTERM, stop)
    if client.startswith("librdkafka-"):
        librdkafka(client.partition("-")[2], *where)
    elif client == "kafka-python":
        kafka_python(*where)
    elif client == "aiokafka":
        asyncio.run(aiokafka(*where))
    else:
        raise SystemExit(f"no such client: {client}")


if __name__ == "__main__":
    main()
