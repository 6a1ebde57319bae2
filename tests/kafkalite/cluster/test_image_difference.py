"""The records of a snapshot's changes, applied to the old image, give the new one."""

from __future__ import annotations

from random import Random
from uuid import UUID

from kafkalite.cluster.image import MetadataImage
from kafkalite.cluster.image_difference import difference
from kafkalite.cluster.image_records import records_of
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord


def random_image(random: Random, partition_count: int = 2) -> MetadataImage:
    image = MetadataImage()
    for name in random.sample("abcd", 3):
        image.apply(FeatureLevelRecord(name=name, feature_level=random.randint(1, 2)))
    for node_id in random.sample(range(4), 2):
        image.apply(RegisterBrokerRecord(broker_id=node_id, broker_epoch=random.randint(0, 2)))
    for name in random.sample("stuv", 3):
        topic_id = UUID(int=1000 + ord(name) * 2 + random.randint(0, 1))
        image.apply(TopicRecord(name=name, topic_id=topic_id))
        for index in range(partition_count):
            image.apply(
                PartitionRecord(
                    topic_id=topic_id,
                    partition_id=index,
                    replicas=[1, 2],
                    isr=random.sample([1, 2], random.randint(1, 2)),
                    leader=random.randint(1, 2),
                    leader_epoch=random.randint(0, 1),
                    partition_epoch=random.randint(0, 1),
                )
            )
        image.apply(
            ConfigRecord(
                resource_type=2,
                resource_name=name,
                name=random.choice("xy"),
                value=random.choice("01"),
            )
        )
    for user in random.sample("pqr", 2):
        entity = [EntityData(entity_type="user", entity_name=user)]
        image.apply(ClientQuotaRecord(entity=entity, key=random.choice("kl"), value=1.0))
        image.apply(UserScramCredentialRecord(name=user, mechanism=random.randint(1, 2)))
    image.apply(ProducerIdsRecord(next_producer_id=random.randint(1, 3)))
    return image


def comparable(image: MetadataImage) -> list[str]:
    return sorted(map(repr, records_of(image)))


def test_the_difference_leads_from_one_to_the_other() -> None:
    random = Random(1)
    for _ in range(300):
        # A topic never has fewer partitions than it had.
        before, after = random_image(random), random_image(random, random.randint(2, 3))
        for record in list(difference(before, after)):
            before.apply(record)
        assert comparable(before) == comparable(after)
        assert before.topics_by_unified_name == after.topics_by_unified_name


def test_partitions_that_stay_as_they_are_are_not_named() -> None:
    image = random_image(Random(2))
    same = MetadataImage()
    for record in records_of(image):
        same.apply(record)
    named = {type(record).__name__ for record in difference(image, same)}
    assert not {"PartitionRecord", "TopicRecord"} & named
