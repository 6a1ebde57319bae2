"""A worker: copies one partition of `input` to `output` in transactions, with aiokafka. Run as a
module.

aiokafka does not tell the broker which member of the group commits (KIP-447), so that each
partition has a transactional id of its own, and whoever takes it over fences who had it.

Nor does it look at the error of a whole OffsetFetch (0.14.0): while a coordinator moves,
`committed` says that nothing was committed. librdkafka asks instead.
"""

from __future__ import annotations

import asyncio
import random
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from conformance.exactly_once_soak.copy_librdkafka import ABORTED, BATCH, SECONDS


def committed(bootstrap: str, group: str, source: str, index: int) -> int:
    """The group's offset; negative if it has none."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        (found,) = consumer.committed([Place(source, index)], SECONDS)
    finally:
        consumer.close()
    return found.offset


class Aborted(Exception):
    """Ends a transaction that is to be aborted."""


async def main(
    bootstrap: str, source: str, target: str, group: str, transactional_id: str, index: str
) -> None:
    """Copy until killed; ends by itself on any error, fencing included."""
    partition = TopicPartition(source, int(index))
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=transactional_id, request_timeout_ms=20_000
    )
    await producer.start()
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    await consumer.start()
    consumer.assign([partition])
    position = max(0, await asyncio.to_thread(committed, bootstrap, group, source, int(index)))
    consumer.seek(partition, position)
    while True:
        found = await consumer.getmany(partition, timeout_ms=300, max_records=BATCH)
        records = found.get(partition, [])
        if not records:
            continue
        aborts = random.random() < 0.2
        try:
            async with producer.transaction():
                for record in records:
                    value = ABORTED + record.value if aborts else record.value
                    await producer.send(target, value, partition=partition.partition)
                end = records[-1].offset + 1
                await producer.send_offsets_to_transaction({partition: end}, group)
                if aborts:
                    raise Aborted
        except Aborted:
            consumer.seek(partition, position)
        else:
            position = end


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
