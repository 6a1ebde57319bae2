"""The metadata image: each record changes what it names, and nothing else."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.cluster.image import MetadataImage, PartitionState, unified
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.no_op_record import NoOpRecord
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord

ID = UUID(int=1)


def partition(index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=ID,
        replicas=[1, 2],
        isr=[1, 2],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )


def config(value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=TOPIC_RESOURCE, resource_name="a.b", name="retention.ms", value=value
    )


@pytest.fixture
def image() -> MetadataImage:
    image = MetadataImage()
    for record in (TopicRecord(name="a.b", topic_id=ID), partition(0), partition(1)):
        image.apply(record)
    return image


def test_a_topic_is_found_by_name_by_id_and_by_unified_name(image: MetadataImage) -> None:
    assert image.topics["a.b"] is image.topics_by_id[ID]
    assert image.topics_by_unified_name == {unified("a_b"): {"a.b"}}
    assert [state.leader_id for state in image.topics["a.b"].partitions] == [1, 1]


def test_a_removed_topic_takes_its_configs_along(image: MetadataImage) -> None:
    image.apply(config("5"))
    assert image.topic_configs("a.b") == {"retention.ms": "5"}
    image.apply(RemoveTopicRecord(topic_id=ID))
    assert (image.topics, image.topics_by_id, image.topics_by_unified_name) == ({}, {}, {})
    assert image.configs == {}


def test_a_null_value_removes_a_config(image: MetadataImage) -> None:
    image.apply(config("5"))
    image.apply(config(None))
    assert image.configs == {}


def test_only_a_change_of_the_leader_begins_a_leader_epoch(image: MetadataImage) -> None:
    state = image.topics["a.b"].partitions[1]
    image.apply(PartitionChangeRecord(partition_id=1, topic_id=ID, isr=[1]))
    assert (state.in_sync_replicas, state.replicas) == ([1], [1, 2])
    assert (state.leader_epoch, state.partition_epoch) == (0, 1)
    image.apply(PartitionChangeRecord(partition_id=1, topic_id=ID, leader=1))
    assert (state.leader_id, state.leader_epoch, state.partition_epoch) == (1, 1, 2)
    assert image.topics["a.b"].partitions[0].partition_epoch == 0


@pytest.mark.parametrize("name", ["a.b", ""])
def test_eligible_leaders_are_cleared_where_there_are_any(image: MetadataImage, name: str) -> None:
    """It is a change of those partitions, of a topic or of all, whose epoch goes up."""
    first, second = image.topics["a.b"].partitions
    image.apply(PartitionChangeRecord(partition_id=0, topic_id=ID, eligible_leader_replicas=[2]))
    image.apply(ClearElrRecord(topic_name="unknown"))
    assert (first.eligible_leader_replicas, first.partition_epoch) == ([2], 1)
    image.apply(ClearElrRecord(topic_name=name))
    assert (first.eligible_leader_replicas, first.partition_epoch) == ([], 2)
    assert (second.partition_epoch, first.leader_epoch) == (0, 0)


def test_partitions_are_numbered_in_order(image: MetadataImage) -> None:
    with pytest.raises(AssertionError, match="numbered in order"):
        image.apply(partition(3))


def test_level_0_removes_a_feature(image: MetadataImage) -> None:
    for level in (2, 0):
        image.apply(FeatureLevelRecord(name="transaction.version", feature_level=level))
        assert image.features == ({"transaction.version": 2} if level else {})


def test_an_entity_without_quotas_is_gone(image: MetadataImage) -> None:
    parts = [EntityData(entity_type=kind, entity_name=None) for kind in ("user", "client-id")]
    for remove in (False, True):
        image.apply(ClientQuotaRecord(entity=parts, key="k", value=1.0, remove=remove))
        entity = (("client-id", None), ("user", None))
        assert image.quotas == ({} if remove else {entity: {"k": 1.0}})


def test_the_racks_are_those_of_the_registered_nodes(image: MetadataImage) -> None:
    image.apply(RegisterBrokerRecord(broker_id=1, rack="a"))
    image.apply(RegisterBrokerRecord(broker_id=2, rack=None))
    image.apply(RegisterBrokerRecord(broker_id=3, rack="b"))
    assert image.racks == {1: "a", 3: "b"}
    image.apply(RegisterBrokerRecord(broker_id=1, rack=None))
    image.apply(UnregisterBrokerRecord(broker_id=3))
    assert image.racks == {}


def test_a_replica_is_lost_with_its_data_directory(image: MetadataImage) -> None:
    here, there, unassigned, lost = UUID(int=500), UUID(int=501), UUID(int=0), UUID(int=1)

    def lost_of(*directories: UUID) -> list[int]:
        state = PartitionState([1, 2], [1, 2], 1, 0, 0, directories=list(directories))
        return image.lost_replicas(state)

    image.apply(RegisterBrokerRecord(broker_id=1, log_dirs=[here, there]))
    image.apply(RegisterBrokerRecord(broker_id=2, log_dirs=[]))  # it names none
    assert lost_of() == lost_of(here, here) == lost_of(unassigned, lost) == []
    image.apply(BrokerRegistrationChangeRecord(broker_id=1, fenced=-1))
    assert lost_of(there, there) == []
    image.apply(BrokerRegistrationChangeRecord(broker_id=1, log_dirs=[here]))
    assert lost_of(there, there) == lost_of(lost, here) == [1]
    assert lost_of(here, there) == lost_of(unassigned, there) == []


def test_records_of_other_kinds_change_nothing(image: MetadataImage) -> None:
    before = dict(vars(image))
    image.apply(NoOpRecord())
    assert vars(image) == before
