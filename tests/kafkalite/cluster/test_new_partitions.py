"""New partitions, gathered: the image is the one that the records alone would make."""

from __future__ import annotations

from uuid import UUID

from kafkalite.cluster.image import MetadataImage, NewPartitions
from kafkalite.cluster.new_partitions import gathered
from kafkalite.requests.slices import at_once
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

FIRST, SECOND = UUID(int=1), UUID(int=2)


def partition(topic_id: UUID, index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=[1, 2],
        isr=[index + 1],
        leader=index + 1,
        leader_epoch=7,
        partition_epoch=3,
        directories=[UUID(int=8), UUID(int=9)],
    )


RECORDS = [
    TopicRecord(name="a", topic_id=FIRST),
    ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value="5"),
    partition(FIRST, 0),
    partition(FIRST, 1),
    TopicRecord(name="b", topic_id=SECOND),
    partition(SECOND, 0),
]


def test_what_is_gathered_makes_the_same_image() -> None:
    changes = at_once(gathered(RECORDS))
    assert len([each for each in changes if isinstance(each, NewPartitions)]) == 2
    images = MetadataImage(), MetadataImage()
    for image, taken in zip(images, (RECORDS, changes), strict=True):
        for record in taken:
            image.apply(record)
    assert images[0].topics == images[1].topics
    assert images[0].topics_by_id == images[1].topics_by_id
    assert images[0].configs == images[1].configs
    assert len(images[0].topics["a"].partitions) == 2


def test_partitions_of_a_topic_that_is_there_follow_its_last() -> None:
    image = MetadataImage()
    for record in RECORDS:
        image.apply(record)
    for change in at_once(gathered([partition(SECOND, 1), partition(SECOND, 2)])):
        image.apply(change)
    assert [each.leader_id for each in image.topics["b"].partitions] == [1, 2, 3]
