"""kafka-python."""

from kafka import KafkaConsumer, KafkaProducer

from conformance.harness.broker import Broker


def test_a_record_comes_back(broker: Broker, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    producer.send(topic, b"value", key=b"key").get(timeout=10)
    producer.close()
    consumer = KafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    )
    record = next(consumer)
    consumer.close()
    assert (record.key, record.value) == (b"key", b"value")
