"""New partitions, gathered: the image is the one that the records alone would make."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.cluster.image import MetadataImage, NewPartitions
from kafkalite.cluster.image_records import records_of
from kafkalite.cluster.new_partitions import gathered, gathered_decided, pieces
from kafkalite.requests.slices import at_once
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord

FIRST, SECOND, THIRD = UUID(int=1), UUID(int=2), UUID(int=3)


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

RECORDS_OF_MANY = [
    TopicRecord(name="many", topic_id=THIRD),
    *(partition(THIRD, index) for index in range(40)),
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


def changed(topic_id: UUID, index: int) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=9)


# Decisions in orders of their own: known partitions again, growth, growth interrupted.
DECIDED = [
    [partition(SECOND, 0), partition(SECOND, 1), changed(SECOND, 1), partition(SECOND, 2)],
    [partition(FIRST, 2), partition(FIRST, 3), partition(FIRST, 1)],
    [partition(FIRST, 1), partition(FIRST, 2), partition(SECOND, 1), partition(FIRST, 3)],
    [RemoveTopicRecord(topic_id=FIRST), TopicRecord(name="a", topic_id=THIRD), partition(THIRD, 0)],
    [*RECORDS_OF_MANY, changed(THIRD, 5), partition(THIRD, 40)],
]


@pytest.mark.parametrize("records", DECIDED)
def test_what_others_decided_makes_the_same_image(records: list[object]) -> None:
    images = MetadataImage(), MetadataImage()
    for image in images:
        for record in RECORDS:
            image.apply(record)
    for record in records:
        images[0].apply(record)
    taken = list(pieces(at_once(gathered_decided(images[1], records))))
    for piece in taken:
        for change in piece:
            images[1].apply(change)
    assert images[0].topics == images[1].topics
    assert list(records_of(images[0])) == list(records_of(images[1]))


def test_a_new_topic_comes_whole() -> None:
    """However many there are before, and however many configs it has."""
    many = [changed(FIRST, 0) for _ in range(100)]
    configs = [
        ConfigRecord(resource_type=2, resource_name="many", name=f"c{number}", value="1")
        for number in range(50)
    ]
    topic, *partitions = RECORDS_OF_MANY
    cleared = ClearElrRecord(topic_name="many")  # the controllers write it after a min.insync
    records = [*many, topic, *configs, cleared, *partitions, *many]
    taken = list(pieces(at_once(gathered_decided(MetadataImage(), records))))
    assert len(taken) > 10
    (whole,) = [piece for piece in taken if topic in piece]
    (new,) = [change for change in whole if isinstance(change, NewPartitions)]
    assert len(new.states) == 40
    assert all(config in whole for config in configs)
