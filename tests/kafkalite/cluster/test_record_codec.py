"""Metadata records are framed as Apache Kafka frames them."""

from __future__ import annotations

import pytest

from kafkalite.cluster.record_codec import decode_record, encode_record
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from tests.kafkalite.clusters import TOPIC_ID


# Values that Apache Kafka 4.3.1 wrote into its own __cluster_metadata-0.
@pytest.mark.parametrize(
    ("value", "record"),
    [
        (
            "010c00116d657461646174612e76657273696f6e001e00",
            FeatureLevelRecord(name="metadata.version", feature_level=30),
        ),
        (
            "010200037431aec97b70bc264e8cae85e206119c318800",
            TopicRecord(name="t1", topic_id=TOPIC_ID),
        ),
    ],
)
def test_records_are_framed_as_kafka_frames_them(value: str, record: object) -> None:
    assert encode_record(record).hex() == value
    assert decode_record(bytes.fromhex(value)) == record


def test_an_unknown_record_is_an_error() -> None:
    with pytest.raises(KafkaError, match="no metadata record: unknown record type 99"):
        decode_record(bytes([1, 99, 0]))


def test_records_of_every_kind_survive_the_log() -> None:
    for record in (
        PartitionRecord(partition_id=1, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=1),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=3, fenced=-1),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=3, log_dirs=[TOPIC_ID]),
        ConfigRecord(resource_type=2, resource_name="t", name="a", value=None),
    ):
        assert decode_record(encode_record(record)) == record
