"""From one image to another, as the records that lead there.

`apply` of them to the first gives an image that equals the second; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.cluster.image import MetadataImage, TopicState
from kafkalite.cluster.image_records import partition_record, records_of
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData
from kafkalite.wire.messages.stored.config_record import ConfigRecord
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from kafkalite.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord


def difference(before: MetadataImage, after: MetadataImage) -> Iterator[object]:
    """The records, first of what has gone, then of what is new or other."""
    yield from _gone(before, after)
    yield from _new(before, after)


def _gone(before: MetadataImage, after: MetadataImage) -> Iterator[object]:
    for name in before.features.keys() - after.features.keys():
        yield FeatureLevelRecord(name=name, feature_level=0)
    for node_id in before.brokers.keys() - after.brokers.keys():
        yield UnregisterBrokerRecord(
            broker_id=node_id, broker_epoch=before.brokers[node_id].broker_epoch
        )
    for topic_id in before.topics_by_id.keys() - after.topics_by_id.keys():
        yield RemoveTopicRecord(topic_id=topic_id)
    for (kind, resource), configs in before.configs.items():
        kept = after.configs.get((kind, resource), {})
        for name in configs.keys() - kept.keys():
            yield ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=None)
    for entity, quotas in before.quotas.items():
        for key in quotas.keys() - after.quotas.get(entity, {}).keys():
            parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            yield ClientQuotaRecord(entity=parts, key=key, remove=True)
    for name, mechanism in before.scram_credentials.keys() - after.scram_credentials.keys():
        yield RemoveUserScramCredentialRecord(name=name, mechanism=mechanism)
    for entry_id in before.access_control_entries.keys() - after.access_control_entries.keys():
        yield RemoveAccessControlEntryRecord(id=entry_id)
    for token_id in before.delegation_tokens.keys() - after.delegation_tokens.keys():
        yield RemoveDelegationTokenRecord(token_id=token_id)


def _new(before: MetadataImage, after: MetadataImage) -> Iterator[object]:
    for record in records_of(after):
        if isinstance(record, (TopicRecord, PartitionRecord)):
            topic = before.topics_by_id.get(record.topic_id)
            if topic is None or (isinstance(record, PartitionRecord) and _is_other(topic, record)):
                yield record
        else:
            yield record


def _is_other(topic: TopicState, record: PartitionRecord) -> bool:
    index = record.partition_id
    if index >= len(topic.partitions):
        return True
    return partition_record(topic, index, topic.partitions[index]) != record
