"""The hash of a group's topics is Apache Kafka's. The numbers are hash4j's, of the same calls as in
Utils.computeTopicHash and computeGroupHash; conformance/storage compares with a running broker."""

from __future__ import annotations

from uuid import UUID

from kafkalite.group_coordinator.metadata_hash import metadata_hash, topic_hash
from tests.group_coordinator.in_memory import MemoryTopics

TOPIC_ID = UUID(int=0x01020304050607081112131415161718)
RACKS = [["b", "a"], [], ["é,", "rück"]]
WITH_RACKS = 1_901_736_874_246_438_966
WITHOUT_RACKS = -3_967_608_492_204_731_963
OF_MANY = 6_326_172_715_065_294_967
OF_A_GROUP = 39_177_652_415_546_907


def test_a_topic_with_racks() -> None:
    assert topic_hash(TOPIC_ID, "orders", 3, RACKS) == WITH_RACKS
    assert topic_hash(TOPIC_ID, "orders", 3, RACKS[::-1]) != WITH_RACKS


def test_a_topic_without() -> None:
    assert topic_hash(TOPIC_ID, "orders", 3, ()) == WITHOUT_RACKS
    assert topic_hash(TOPIC_ID, "orders", 3, [[], [], []]) == WITHOUT_RACKS


def test_a_topic_of_many_partitions() -> None:
    """XXH3 takes more than 240 bytes in another way."""
    assert topic_hash(TOPIC_ID, "orders", 1000, ()) == OF_MANY


def test_a_group_has_its_topics_by_name() -> None:
    topics = MemoryTopics({"orders": 3, "\u00e4": 1, "beyond": 2})
    topics.ids = {"orders": TOPIC_ID, "beyond": UUID(int=5)}
    topics.racks = {"orders": RACKS}
    assert metadata_hash(["orders", "beyond", "missing"], topics) == OF_A_GROUP
    assert metadata_hash(["missing"], topics) == metadata_hash([], topics) == 0


def test_a_topic_that_has_changed_is_hashed_anew() -> None:
    topics = MemoryTopics({"orders": 3})
    topics.ids = {"orders": TOPIC_ID}
    hashes = [metadata_hash(["orders"], topics)]
    assert metadata_hash(["orders"], topics) == hashes[0]
    topics.racks = {"orders": RACKS}
    hashes.append(metadata_hash(["orders"], topics))
    topics.racks = {"orders": [["a"], [], ["é,"]]}
    hashes.append(metadata_hash(["orders"], topics))
    topics.counts["orders"] = 4
    hashes.append(metadata_hash(["orders"], topics))
    topics.ids = {"orders": UUID(int=6)}
    hashes.append(metadata_hash(["orders"], topics))
    assert len(set(hashes)) == len(hashes)
