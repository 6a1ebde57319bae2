"""A one-process broker grows in place: its metadata go to one of Apache Kafka's controllers.

Topics, configs, records, offsets, groups of each kind with their members, transactions, ACLs and
credentials are there afterwards, and so is everything that comes later.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from conformance.harness.kafkalite import PYTHON, ROOT, Kafkalite, environment
from conformance.harness.members import Requests
from conformance.harness.quorum import FIRST_CONTROLLER, QuorumCluster
from conformance.scenarios.kept_groups import KeptGroups
from conformance.scenarios.page import block, properties, replaced
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest

TOPIC, RECORDS = "orders", 50
SECONDS = 60
# The id of a broker whose user chose none.
NEWCOMER = 1
SEVERAL, GROWING = "## Several processes or machines", "### Growing in place"
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
# A filter that every ACL passes.
ANY = AclBindingFilter(
    *(ResourceType.ANY, None, ResourcePatternType.ANY),
    *(None, None, AclOperation.ANY, AclPermissionType.ANY),
)

pytestmark = pytest.mark.xdist_group("cluster")


class GrownCluster(QuorumCluster):
    """The controller's directory is made of that of the first broker, which was alone.

    Commands and properties are those of docs/cluster.md, but for ports, directories and timeouts.
    """

    def write_properties(self, node_id: int) -> None:
        super().write_properties(node_id)
        if node_id in self.kafka:
            return
        file, data = self.file(node_id), str(self.data(node_id))
        voter = f"{FIRST_CONTROLLER}@127.0.0.1:{self.controllers[FIRST_CONTROLLER]}"
        here = f"127.0.0.1:{self.nodes[node_id]}"
        if node_id in self.controllers:
            told = block(GROWING, "process.roles=controller")
            places = {
                "3000@controller:9093": voter,
                "0.0.0.0:9093": here,
                "controller:9093": here,
                "/var/lib/controller": data,
            }
        else:
            told = block(SEVERAL, "process.roles=broker")
            places = {
                "node.id=11": f"node.id={node_id}",
                "bootstrap.servers=controller-1:9093,controller-2:9093": f"voters={voter}",
                "0.0.0.0:9092": here,
                "broker-11:9092": here,
                "/var/lib/kafkalite": data,
            }
        everything = properties(file.read_text()) | properties(replaced(told, places))
        file.write_text("".join(f"{name}={value}\n" for name, value in everything.items()))

    def format(self, node_id: int) -> None:
        if node_id not in self.controllers:
            return
        places = {
            "/var/lib/controller": str(self.data(node_id)),
            "/var/lib/kafkalite": str(self.data(min(self.kafkalite))),
        }
        program, *arguments = shlex.split(replaced(block(GROWING, "kafkalite grow"), places))
        if min(self.kafkalite) != NEWCOMER:
            arguments += ["--set", f"node.id={min(self.kafkalite)}"]
        grown = subprocess.run(
            [PYTHON, "-m", program, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment(),
            cwd=ROOT,
        )
        assert grown.returncode == 0, grown.stderr


def init(bootstrap: str) -> tuple[int, int]:
    """The producer id and epoch of a transactional id."""
    request = InitProducerIdRequest(transactional_id="copier", transaction_timeout_ms=60_000)
    while True:
        with Requests(bootstrap) as connection:
            answer = connection.call(request, 5)
        if not answer.error_code:
            return answer.producer_id, answer.producer_epoch


def fill(bootstrap: str) -> None:
    """Some of everything."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(TOPIC, 2, config={"retention.ms": "-1"})
    admin.create_topics([new])[TOPIC].result(SECONDS)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "copier"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce(TOPIC, b"%d" % number, partition=0)
    producer.commit_transaction(SECONDS)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 7)], asynchronous=False)
    consumer.close()
    allowed = AclBinding(
        *(ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, "User:alice", "*"),
        *(AclOperation.READ, AclPermissionType.ALLOW),
    )
    admin.create_acls([allowed])[allowed].result(SECONDS)
    credential = UserScramCredentialUpsertion(
        "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret"
    )
    admin.alter_user_scram_credentials([credential])["alice"].result(SECONDS)


def read(bootstrap: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "r", "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[bytes | None] = []
    while len(found) < count:
        message = consumer.poll(SECONDS)
        assert message is not None, found
        assert message.error() is None, message.error()
        found.append(message.value())
    consumer.close()
    return found


def test_everything_is_there_after_it_has_grown(tmp_path: Path) -> None:
    alone = Kafkalite(tmp_path / f"node-{NEWCOMER}", PROPERTIES)
    try:
        fill(alone.bootstrap)
        groups = KeptGroups(alone.bootstrap)
        producer_id, epoch = init(alone.bootstrap)
    finally:
        alone.stop()
    cluster = GrownCluster(tmp_path, kafkalite=1, properties=PROPERTIES, first_kafkalite=NEWCOMER)
    try:
        bootstrap = cluster.bootstrap
        admin = AdminClient({"bootstrap.servers": bootstrap})
        expected = [b"%d" % number for number in range(RECORDS)]
        assert read(bootstrap, RECORDS) == expected
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
        (committed,) = consumer.committed([TopicPartition(TOPIC, 0)], SECONDS)
        assert committed.offset == 7
        consumer.close()
        groups.bootstrap = bootstrap
        groups.beat()
        groups.check()
        assert init(bootstrap) == (producer_id, epoch + 1)
        configs = admin.describe_configs([ConfigResource(ResourceType.TOPIC, TOPIC)])
        (described,) = configs.values()
        assert described.result(SECONDS)["retention.ms"].value == "-1"
        (binding,) = admin.describe_acls(ANY).result(SECONDS)
        assert (binding.name, binding.principal) == (TOPIC, "User:alice")
        known = admin.describe_user_scram_credentials(["alice"])["alice"].result(SECONDS)
        assert [each.iterations for each in known.scram_credential_infos] == [4096]

        admin.create_topics([NewTopic("later", 1)])["later"].result(SECONDS)
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce(TOPIC, b"later", partition=0)
        producer.produce("later", b"later")
        assert producer.flush(SECONDS) == 0
        assert read(bootstrap, RECORDS + 1) == [*expected, b"later"]
    finally:
        cluster.close()
