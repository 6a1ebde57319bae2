"""aiokafka, any version: `aiokafka_client.py BOOTSTRAP PREFIX STEP ...`."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from steps import BOOTSTRAP, CODECS, PREFIX, run, same

SECONDS = 30


async def consumed(topic, count, **options):
    options = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=BOOTSTRAP, **options)
    await consumer.start()
    try:
        values = [(await asyncio.wait_for(consumer.getone(), SECONDS)).value for _ in range(count)]
        await consumer.commit()
    finally:
        await consumer.stop()
    return values


async def producing(**options):
    producer = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, **options)
    await producer.start()
    return producer


async def produce(codec):
    topic = f"{PREFIX}-{codec}"
    producer = await producing(acks="all", compression_type=None if codec == "none" else codec)
    for n in range(10):
        sent = await producer.send_and_wait(topic, key=b"k", value=b"%d" % n * 100)
        same(sent.offset, n)
    await producer.stop()
    values = await consumed(topic, 10, group_id=f"{topic}-group")
    same(values, [b"%d" % n * 100 for n in range(10)])


async def group():
    topic = f"{PREFIX}-group"
    producer = await producing()
    for sent in (b"first", b"second"):
        await producer.send_and_wait(topic, sent)
        same(await consumed(topic, 1, group_id=topic), [sent])
    await producer.stop()


async def transactions():
    topic = f"{PREFIX}-transactions"
    producer = await producing(transactional_id=topic)
    for end, value in (("abort", b"no"), ("commit", b"yes")):
        await producer.begin_transaction()
        await producer.send_and_wait(topic, value)
        await getattr(producer, f"{end}_transaction")()
    await producer.stop()
    values = await consumed(topic, 1, group_id=topic, isolation_level="read_committed")
    same(values, [b"yes"])


def finished(step):
    return lambda *arguments: asyncio.run(step(*arguments))


run(
    {f"produce {codec}": (finished(produce), codec) for codec in CODECS},
    group=finished(group),
    transactions=finished(transactions),
)
