"""An image as records: the shortest log that leads to it, in the order of Kafka's
MetadataImage.write.

`apply` of all of them to an empty image gives an equal one; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafkalite.cluster.features import BOOTSTRAP_FEATURES, ELR_FEATURE, METADATA_VERSION
from kafkalite.cluster.image import ALL_BROKERS, MetadataImage, PartitionState, TopicState
from kafkalite.config import BrokerConfig
from kafkalite.wire.api_keys import BROKER_RESOURCE
from kafkalite.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.end_transaction_record import EndTransactionRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.producer_ids_record import ProducerIdsRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord


def bootstrap_records(config: BrokerConfig, formatted_with: Sequence[object]) -> list[object]:
    """The first records of a new cluster, as Kafka's StorageTool and controller write them:
    those that the storage was `formatted_with`, or levels of features if there are none."""
    given = [
        *(
            formatted_with
            or (
                FeatureLevelRecord(name=name, feature_level=level)
                for name, level in BOOTSTRAP_FEATURES.items()
            )
        )
    ]
    levels = {
        each.name: each.feature_level for each in given if isinstance(each, FeatureLevelRecord)
    }
    if levels.get(ELR_FEATURE):
        # Then min.insync.replicas is a setting of the whole cluster.
        given.append(
            ConfigRecord(
                resource_type=BROKER_RESOURCE,
                resource_name=ALL_BROKERS,
                name="min.insync.replicas",
                value=str(config.integer("min.insync.replicas")),
            )
        )
    return [BeginTransactionRecord(name="Bootstrap records"), *given, EndTransactionRecord()]


def records_of(image: MetadataImage) -> Iterator[object]:
    """All of it. The records share lists with the image, which replaces lists and never changes
    one."""
    yield from _features(image)
    for broker in image.brokers.values():
        yield replace(
            broker.registration,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
            log_dirs=sorted(broker.directories),
        )
    for topic in image.topics.values():
        yield from _topic(topic)
    for (kind, resource), configs in image.configs.items():
        for name, value in configs.items():
            yield ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)
    yield from _quotas(image)
    yield from _producer_ids(image)
    yield from image.access_control_entries.values()
    yield from image.scram_credentials.values()
    yield from image.delegation_tokens.values()


def _features(image: MetadataImage) -> Iterator[object]:
    # The first record says how to read the others.
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])


def _topic(topic: TopicState) -> Iterator[object]:
    yield TopicRecord(name=topic.name, topic_id=topic.topic_id)
    for index, state in enumerate(topic.partitions):
        yield partition_record(topic, index, state)


def partition_record(topic: TopicState, index: int, state: PartitionState) -> PartitionRecord:
    """A partition as it is, in one record."""
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.topic_id,
        replicas=state.replicas,
        isr=state.in_sync_replicas,
        removing_replicas=state.removing_replicas,
        adding_replicas=state.adding_replicas,
        leader=state.leader_id,
        leader_recovery_state=state.leader_recovery_state,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        directories=state.directories,
        # null, not empty, where there are none.
        eligible_leader_replicas=state.eligible_leader_replicas or None,
        last_known_elr=state.last_known_eligible or None,
    )


def _quotas(image: MetadataImage) -> Iterator[object]:
    for entity, quotas in image.quotas.items():
        for key, value in quotas.items():
            yield ClientQuotaRecord(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                key=key,
                value=value,
                remove=False,
            )


def _producer_ids(image: MetadataImage) -> Iterator[object]:
    if image.next_producer_id:
        yield ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
