"""A worker: copies one partition of `input` to `output` in transactions, with aiokafka. Run as a
module.

aiokafka does not tell the broker which member of the group commits (KIP-447), so that each
partition has a transactional id of its own, and whoever takes it over fences who had it.
"""

from __future__ import annotations

import asyncio
import random
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from conformance.exactly_once_soak.copy_librdkafka import ABORTED, BATCH


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
    position = await consumer.committed(partition) or 0
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
