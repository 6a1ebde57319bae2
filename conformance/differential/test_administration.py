"""Elections, reassignments, quotas, SCRAM credentials, features, the quorum: both asked alike."""

from typing import Any

import pytest

from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.alter_client_quotas import EntityData as AlteredEntity
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkalite.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafkalite.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionDataRequest,
    TopicDataRequest,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalite.wire.messages.unregister_broker import UnregisterBrokerRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("election_type", [0, 1, 2])
def test_elections(pair: Pair, topic: str, version: int, election_type: int) -> None:
    if version == 0 and election_type:
        pytest.skip("v0 knows one type")
    pair.create_topic(topic, 2)
    asked = [
        TopicPartitions(topic=topic, partitions=[0, 1, 7]),
        TopicPartitions(topic=f"{topic}-not-there", partitions=[0]),
    ]
    request = ElectLeadersRequest(election_type=election_type, topic_partitions=asked)
    pair.ask(ApiKey.ELECT_LEADERS, version, request)


def reassigning(name: str, *moves: tuple[int, list[int] | None]) -> Any:
    partitions = [
        ReassignablePartition(partition_index=index, replicas=replicas) for index, replicas in moves
    ]
    return AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=partitions)]
    )


@pytest.mark.parametrize("version", range(2))
def test_reassignments(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 2)
    for request in (
        reassigning(topic, (0, [1]), (1, None), (7, [1])),
        reassigning(topic, (0, [9]), (1, [])),
        reassigning(topic, (0, [1, 1])),
        reassigning(f"{topic}-not-there", (0, [1])),
    ):
        pair.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, request)
    for topics in (
        None,
        [ListPartitionReassignmentsTopics(name=topic, partition_indexes=[0, 7])],
        [ListPartitionReassignmentsTopics(name=f"{topic}-not-there", partition_indexes=[0])],
    ):
        request = ListPartitionReassignmentsRequest(topics=topics)
        pair.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, request)


Entity = tuple[tuple[str, str | None], ...]


def quota(entity: Entity, *ops: tuple[str, float | None]) -> EntryDataRequest:
    return EntryDataRequest(
        entity=[AlteredEntity(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops],
    )


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("entity", "ops"),
    [
        ((("user", "u"),), [("producer_byte_rate", 5.0)]),
        ((("user", None),), [("consumer_byte_rate", 5.0)]),
        ((("user", "u"), ("client-id", "c")), [("request_percentage", 0.5)]),
        ((("ip", "10.0.0.1"),), [("connection_creation_rate", 5.0)]),
        ((("user", "u"),), [("producer_byte_rate", 5.5)]),
        ((("user", "u"),), [("producer_byte_rate", 0.0)]),
        ((("user", "u"),), [("nonsense", 1.0)]),
        ((("ip", "10.0.0.1"),), [("connection_creation_rate", 5e10)]),
        ((("ip", "not an address"),), [("connection_creation_rate", 5.0)]),
        ((("ip", "10.0.0.1"), ("user", "u")), [("connection_creation_rate", 5.0)]),
        ((("nonsense", "x"),), [("producer_byte_rate", 5.0)]),
        ((), [("producer_byte_rate", 5.0)]),
        ((("user", ""),), [("producer_byte_rate", 5.0)]),
        ((("user", "u"),), [("producer_byte_rate", None)]),
        ((("user", "nobody"),), [("producer_byte_rate", None)]),
        ((("user", "u"),), [("producer_byte_rate", 1.5), ("nonsense", 1.0)]),
        ((("user", "u"),), [("producer_byte_rate", 1.5), ("nope", 1.0)]),
        ((("user", "u"),), [("nonsense", 1.0), ("producer_byte_rate", 1.5), ("other", 2.0)]),
        ((("user", "u"),), [(f"nonsense-{number}", 1.0) for number in range(14)]),
    ],
    ids=str,
)
def test_quotas(
    pair: Pair, entity: Entity, ops: list[tuple[str, float | None]], version: int
) -> None:
    request = AlterClientQuotasRequest(entries=[quota(entity, *ops)])
    pair.ask(ApiKey.ALTER_CLIENT_QUOTAS, version, request)
    if version:  # and away with it
        gone = [(key, None) for key, _ in ops]
        request = AlterClientQuotasRequest(entries=[quota(entity, *gone)])
        pair.ask(ApiKey.ALTER_CLIENT_QUOTAS, version, request)


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    "components",
    [
        [],
        [("user", 0, "u")],
        [("user", 1, None)],
        [("user", 2, None)],
        [("user", 0, None)],
        [("user", 1, "x")],
        [("user", 2, "x")],
        [("user", 3, None)],
        [("user", 2, None), ("user", 2, None)],
        [("user", 2, None), ("ip", 2, None)],
        [("nonsense", 2, None)],
        [("", 2, None)],
    ],
    ids=str,
)
def test_describing_quotas(pair: Pair, components: Any, version: int) -> None:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in components
        ],
        strict=True,
    )
    pair.ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, version, request)


def test_the_order_of_an_entitys_quotas(pair: Pair) -> None:
    entity = (("user", "orderly"), ("client-id", "c"))
    every = ("request_percentage", "producer_byte_rate", "consumer_byte_rate")
    for ops in (
        [(key, 1.0) for key in every],
        [("controller_mutation_rate", 1.0)],
        [("consumer_byte_rate", None)],
        [(key, None) for key in every],
        [("producer_byte_rate", 1.0), ("request_percentage", 2.0)],
        [(key, None) for key in (*every, "controller_mutation_rate")],
    ):
        request = AlterClientQuotasRequest(entries=[quota(entity, *ops)])
        pair.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, request)
        pair.settle()
        component = ComponentData(entity_type="user", match_type=0, match="orderly")
        describe = DescribeClientQuotasRequest(components=[component], strict=False)
        pair.ask(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, describe)


def credential(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=b"p" * 32,
    )


def test_credentials(pair: Pair) -> None:
    def alter(*upsertions: ScramCredentialUpsertion, gone: tuple[str, ...] = ()) -> None:
        deletions = [ScramCredentialDeletion(name=name, mechanism=1) for name in gone]
        request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=list(upsertions))
        pair.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, request)

    alter(credential("u"))
    alter(credential("v", 2), gone=("nobody",))
    alter(credential("w", iterations=4095), credential("x", iterations=16385))
    alter(credential("y", 3), credential(""))
    alter(credential("z"), credential("z", 2))
    alter(credential("u"), gone=("u",))
    for names in (["u"], ["nobody"], ["u", "u"], ["v"]):
        wait_for_credentials(pair)
        request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
        pair.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request)
    alter(gone=("u",))


def wait_for_credentials(pair: Pair) -> None:
    request = DescribeUserScramCredentialsRequest(users=None)
    for side in (pair.reference, pair.tested):
        for _ in range(200):
            answer = side.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, request)
            if {"u", "v"} <= {result.user for result in answer.results}:
                break


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize(
    ("feature", "level", "kind"),
    [
        ("group.version", 1, 1),
        ("group.version", 2, 1),
        ("group.version", 0, 1),
        ("group.version", -1, 1),
        ("group.version", 0, 2),
        ("group.version", 1, 2),
        ("group.version", 1, 9),
        ("nonsense", 1, 1),
        ("metadata.version", 30, 1),
        ("metadata.version", 3, 2),
        ("metadata.version", 29, 2),
    ],
    ids=str,
)
def test_features(pair: Pair, feature: str, level: int, kind: int, version: int) -> None:
    update = FeatureUpdateKey(
        feature=feature, max_version_level=level, allow_downgrade=kind == 2, upgrade_type=kind
    )
    request = UpdateFeaturesRequest(feature_updates=[update], validate_only=True)
    pair.ask(ApiKey.UPDATE_FEATURES, version, request)


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize(("name", "index"), [("__cluster_metadata", 1), ("nonsense", 0)])
def test_another_quorum(pair: Pair, name: str, index: int, version: int) -> None:
    topic = TopicDataRequest(
        topic_name=name, partitions=[PartitionDataRequest(partition_index=index)]
    )
    pair.ask(ApiKey.DESCRIBE_QUORUM, version, DescribeQuorumRequest(topics=[topic]))


@pytest.mark.parametrize("version", range(3))
def test_the_quorum(pair: Pair, version: int) -> None:
    topic = TopicDataRequest(
        topic_name="__cluster_metadata", partitions=[PartitionDataRequest(partition_index=0)]
    )
    pair.ask(ApiKey.DESCRIBE_QUORUM, version, DescribeQuorumRequest(topics=[topic]))


def test_a_broker_that_is_not_there(pair: Pair) -> None:
    pair.ask(ApiKey.UNREGISTER_BROKER, 0, UnregisterBrokerRequest(broker_id=77))


@pytest.mark.parametrize("version", [1, 2])
def test_moving_to_another_directory(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    moves = [AlterReplicaLogDirTopic(name=topic, partitions=[0, 7])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path="/not/ours", topics=moves)])
    pair.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, version, request)


@pytest.mark.parametrize("version", range(1, 6))
def test_what_is_in_the_directories(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 2)
    for asked in ({topic: [0, 1]}, {topic: [1, 7, -1]}, {f"{topic}-not-there": [0]}, {topic: []}):
        topics = [DescribableLogDirTopic(topic=n, partitions=p) for n, p in asked.items()]
        pair.ask(ApiKey.DESCRIBE_LOG_DIRS, version, DescribeLogDirsRequest(topics=topics))


def test_too_many_partitions_at_once(pair: Pair, topic: str) -> None:
    new = CreatableTopic(name=topic, num_partitions=10_001, replication_factor=1)
    pair.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[new]))
