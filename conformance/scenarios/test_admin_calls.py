"""Every call that the clients' admin classes have: made, and answered as it should be.

A client that learns a new call makes its test fail until the call is made here, or it is said why
not.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aiokafka import TopicPartition as AioPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.admin import NewTopic as AioTopic
from aiokafka.admin.config_resource import ConfigResource as AioResource
from aiokafka.admin.config_resource import ConfigResourceType as AioResourceType
from confluent_kafka import ConsumerGroupTopicPartitions as GroupOffsets
from confluent_kafka import ElectionType, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as librdkafka
from kafka import TopicPartition as PythonPartition
from kafka import admin as kafka_python
from kafka.structs import OffsetAndMetadata

from conformance.differential.wait_ready import wait_for_coordinators
from conformance.harness.asyncio_runs import run_in_asyncio
from conformance.harness.broker import Broker
from conformance.scenarios.test_kafkajs import pytestmark as needs_kafkajs
from conformance.scenarios.test_kafkajs import run as run_kafkajs

SECONDS = 20
SECURITY = "ACLs and SASL belong to a broker with security"
LOCAL = "asks the broker nothing"


@pytest.fixture(scope="module", autouse=True)
def _coordinators(broker: Broker) -> None:
    """Made now, and not while a call is waited for: kafka-python's does not ask again."""
    wait_for_coordinators(broker)


class Recording:
    """A client, and which of its calls were made."""

    def __init__(self, client: object) -> None:
        self.client = client
        self.calls: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.calls.add(name)
        return getattr(self.client, name)

    def check(self, left_out: Mapping[str, str]) -> None:
        """Every call was made, or it is said why not."""
        every = {
            name
            for name in dir(type(self.client))
            if not name.startswith("_") and callable(getattr(self.client, name))
        }
        assert self.calls | left_out.keys() == every
        assert not self.calls & left_out.keys()


def wait_until(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_librdkafka(broker: Broker, topic: str, unique: Callable[[str], str]) -> None:
    group = unique("group")
    client = Recording(
        librdkafka.AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    )

    def one(futures: Mapping[Any, Any]) -> Any:
        (future,) = futures.values()
        return future.result(SECONDS)

    new = librdkafka.NewTopic(topic, 1, 1)
    one(client.create_topics([new]))
    wait_until(lambda: topic in client.list_topics(timeout=SECONDS).topics)
    one(client.create_partitions([librdkafka.NewPartitions(topic, 2)]))
    # The client breaks down over a partition that has no leader yet, as on Apache Kafka for a
    # moment.
    wait_until(lambda: led_partitions(client, topic) == 2)
    assert len(one(client.describe_topics(TopicCollection([topic]))).partitions) == 2
    assert client.describe_cluster().result(SECONDS).controller.id == 1
    assert len(client.cluster_id(timeout=SECONDS)) == 22
    place = librdkafka.ResourceType.TOPIC, topic
    setting = librdkafka.ConfigEntry("retention.ms", "5000")
    setting.incremental_operation = librdkafka.AlterConfigOpType.SET
    incremental = librdkafka.ConfigResource(*place, incremental_configs=[setting])
    one(client.incremental_alter_configs([incremental]))
    wait_until(
        lambda: one(client.describe_configs([resource(place)]))["retention.ms"].value == "5000"
    )
    with pytest.deprecated_call():  # and still a call it has
        one(client.alter_configs([librdkafka.ConfigResource(*place, {"segment.ms": "9000"})]))
    wait_until(
        lambda: one(client.describe_configs([resource(place)]))["segment.ms"].value == "9000"
    )
    assert one(client.describe_configs([resource(place)]))["retention.ms"].value == "604800000"
    where = TopicPartition(topic, 0)
    found = one(client.list_offsets({where: librdkafka.OffsetSpec.latest()}))
    assert found.offset == 0
    assert one(client.delete_records([TopicPartition(topic, 0, 0)])).low_watermark == 0
    elected = client.elect_leaders(ElectionType.PREFERRED, [where]).result(SECONDS)
    assert elected[where].name() == "ELECTION_NOT_NEEDED"
    offsets = GroupOffsets(group, [TopicPartition(topic, 0, 3)])

    def committed() -> list[int]:
        one(client.alter_consumer_group_offsets([offsets]))
        found = one(client.list_consumer_group_offsets([GroupOffsets(group)]))
        return [each.offset for each in found.topic_partitions]

    wait_until(lambda: committed() == [3])  # once Apache Kafka's coordinator knows the topic
    assert group in {g.group_id for g in client.list_consumer_groups().result(SECONDS).valid}
    with pytest.deprecated_call():
        assert group in {found.id for found in client.list_groups(timeout=SECONDS)}
    assert one(client.describe_consumer_groups([group])).state.name == "EMPTY"
    one(client.delete_consumer_groups([group]))
    librdkafka_users(client, topic)
    one(client.delete_topics([topic]))
    client.poll(0)
    client.check(
        {
            "create_acls": SECURITY,
            "delete_acls": SECURITY,
            "describe_acls": SECURITY,
            "set_sasl_credentials": LOCAL,
        }
    )


def librdkafka_users(client: Recording, user: str) -> None:
    mechanism = librdkafka.ScramMechanism.SCRAM_SHA_256
    info = librdkafka.ScramCredentialInfo(mechanism, 4096)
    insertion = librdkafka.UserScramCredentialUpsertion(user, info, b"secret", b"salt")
    client.alter_user_scram_credentials([insertion])[user].result(SECONDS)
    wait_until(lambda: credentials_of(client, user))
    deletion = librdkafka.UserScramCredentialDeletion(user, mechanism)
    client.alter_user_scram_credentials([deletion])[user].result(SECONDS)


def led_partitions(client: Recording, topic: str) -> int:
    partitions = client.list_topics(timeout=SECONDS).topics[topic].partitions
    return sum(partition.leader >= 0 for partition in partitions.values())


def resource(place: tuple[Any, str]) -> librdkafka.ConfigResource:
    return librdkafka.ConfigResource(*place)


def credentials_of(client: Recording, user: str) -> bool:
    try:
        future = client.describe_user_scram_credentials([user])[user]
        return [info.iterations for info in future.result(SECONDS).scram_credential_infos] == [4096]
    except KafkaException:
        return False


def test_kafka_python(broker: Broker, topic: str, unique: Callable[[str], str]) -> None:
    group, where = unique("group"), PythonPartition(topic, 0)
    client = Recording(kafka_python.KafkaAdminClient(bootstrap_servers=broker.bootstrap))
    try:
        client.create_topics([topic], wait_for_metadata=True)
        client.wait_for_topics([topic])
        assert topic in client.list_topics()
        client.create_partitions({topic: 2})
        wait_until(lambda: len(client.describe_topics([topic])[0]["partitions"]) == 2)
        client.describe_topic_partitions([topic])
        python_configs(client, topic)
        assert client.describe_cluster()["controller_id"] == 1
        assert client.api_versions()
        client.get_broker_version_data(1)
        assert "metadata.version" in str(client.describe_features())
        assert client.describe_metadata_quorum()
        assert topic in str(client.describe_log_dirs())
        latest = {where: kafka_python.OffsetSpec.LATEST}
        assert client.list_partition_offsets(latest)[where].offset == 0
        client.delete_records({where: 0})
        client.elect_leaders(0, {topic: [0]}, raise_errors=False)
        assert not client.list_partition_reassignments()
        client.alter_partition_reassignments({where: [1]})

        client.alter_group_offsets(group, {where: OffsetAndMetadata(3, "", -1)})
        assert client.list_group_offsets({group: None})[group][where].offset == 3
        client.reset_group_offsets(group, {where: kafka_python.OffsetSpec.EARLIEST})
        assert client.list_group_offsets({group: None})[group][where].offset == 0
        assert group in {found["group_id"] for found in client.list_groups()}
        assert client.describe_groups([group])
        client.remove_group_members(group, [])
        client.delete_group_offsets(group, [where])
        client.delete_groups([group])
        assert client.list_transactions() is not None
        client.describe_producers([where])
        client.find_hanging_transactions()
        python_users_and_features(client, topic)
        client.delete_topics([topic])
    finally:
        client.close()
    client.check(
        {
            "create_acls": SECURITY,
            "delete_acls": SECURITY,
            "describe_acls": SECURITY,
            "abort_transaction": "needs a hanging transaction: test_transactions_tool.py",
            "describe_transactions": "needs a transaction: test_transactions_tool.py",
            "alter_replica_log_dirs": "needs several directories: storage/",
        }
    )


def python_configs(client: Recording, topic: str) -> None:
    kind = kafka_python.ConfigResourceType.TOPIC
    client.alter_configs([kafka_python.ConfigResource(kind, topic, {"retention.ms": "5000"})])

    def retention() -> str:
        asked = [kafka_python.ConfigResource(kind, topic)]
        found = client.describe_configs(asked, config_filter="all")["topic"][topic]
        return str(found["retention.ms"]["value"])

    wait_until(lambda: retention() == "5000")
    client.reset_configs([kafka_python.ConfigResource(kind, topic, {"retention.ms": None})])
    wait_until(lambda: retention() == "604800000")
    assert topic in str(client.list_config_resources())


def python_users_and_features(client: Recording, user: str) -> None:
    mechanism = kafka_python.ScramMechanism.SCRAM_SHA_256
    insertion = kafka_python.UserScramCredentialUpsertion(user, mechanism, "secret")
    client.alter_user_scram_credentials([insertion])
    wait_until(lambda: user in str(client.describe_user_scram_credentials()))
    client.alter_user_scram_credentials([kafka_python.UserScramCredentialDeletion(user, mechanism)])
    client.update_features({"share.version": 1}, validate_only=True)


def test_aiokafka(broker: Broker, topic: str, unique: Callable[[str], str]) -> None:
    group, where = unique("group"), AioPartition(topic, 0)

    async def scenario() -> None:
        client = Recording(AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap))
        await client.start()
        await client.create_topics([AioTopic(topic, 1, 1)])
        while topic not in await client.list_topics():
            pass
        await client.create_partitions({topic: NewPartitions(total_count=2)})
        while len((await client.describe_topics([topic]))[0]["partitions"]) != 2:
            pass
        assert (await client.describe_cluster())["controller_id"] == 1
        about = AioResource(AioResourceType.TOPIC, topic, {"retention.ms": "5000"})
        await client.alter_configs([about])
        (answer,) = await client.describe_configs([AioResource(AioResourceType.TOPIC, topic)])
        assert {entry[0] for entry in answer.resources[0][4]} >= {"retention.ms"}
        await client.delete_records({where: RecordsToDelete(0)})
        assert await client.find_coordinator(group) == 1
        await client.list_consumer_groups()
        assert await client.describe_consumer_groups([group])
        assert await client.list_consumer_group_offsets(group) == {}
        await client.delete_topics([topic])
        await client.close()
        client.check({})

    async def limited() -> None:
        async with asyncio.timeout(SECONDS):
            await scenario()

    run_in_asyncio(limited())


@needs_kafkajs
def test_kafkajs(broker: Broker, topic: str) -> None:
    seen = run_kafkajs(broker, "everyAdminCall", topic)
    assert seen["missing"] == ["createAcls", "deleteAcls", "describeAcls", "events", "on", "logger"]
    assert seen["offsets"] == ["3"]
    assert seen["retention"] == "5000"
    assert seen["metadata"] == 2
    assert seen["group"] == "Empty"
