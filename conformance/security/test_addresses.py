"""Clients that come by IPv6: both brokers give them the same names, in ACLs and to others."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.ports import free_ports
from conformance.security.pair import Client
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

TOPIC, LITERAL, DENY, DESCRIBE = 2, 3, 2, 8
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
SECONDS = 20
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SIX:PLAINTEXT",
}


class KafkaOfTwo(ApacheKafka):
    """Apache Kafka that listens on IPv6, too."""

    def __init__(self, directory: Path) -> None:
        (self.six,) = free_ports(1)
        super().__init__(directory, PROPERTIES)

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        self.plain = self.ports[0]
        listeners = f"PLAINTEXT://127.0.0.1:{self.plain},SIX://[::1]:{self.six}"
        own = {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self.controller_ports[0]}",
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
        }
        super().format(node_id, {**properties, **own})


class KafkaliteOfTwo(Kafkalite):
    """kafkalite with the same listeners."""

    def __init__(self, directory: Path) -> None:
        self.plain, self.six = free_ports(2)
        listeners = f"PLAINTEXT://127.0.0.1:{self.plain},SIX://[::1]:{self.six}"
        super().__init__(directory, {**PROPERTIES, "listeners": listeners})

    def listener_flags(self) -> list[str]:
        return []


OfTwo = KafkaOfTwo | KafkaliteOfTwo


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OfTwo, OfTwo]]:
    directory = tmp_path_factory.mktemp("addresses")
    with ExitStack() as stack:
        ours = KafkaliteOfTwo(directory / "kafkalite")
        stack.callback(ours.stop)
        theirs = KafkaOfTwo(directory / "kafka")
        stack.callback(theirs.stop)
        yield theirs, ours


@pytest.mark.parametrize(
    ("host", "is_denied"),
    [("0:0:0:0:0:0:0:1", True), ("::1", False), ("127.0.0.1", False), ("*", True)],
)
def test_an_entry_names_a_host_of_ipv6(
    brokers: tuple[OfTwo, OfTwo], host: str, is_denied: bool
) -> None:
    name = f"six-{host.replace(':', '.').replace('*', 'all')}"
    told: list[int] = []
    for broker in brokers:
        with Client(("127.0.0.1", broker.plain)) as admin:
            topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            assert admin.ask(CreateTopicsRequest(topics=[topic])).topics[0].error_code == 0
            entry = AclCreation(TOPIC, name, LITERAL, "User:ANONYMOUS", host, DESCRIBE, DENY)
            allowed = AclCreation(TOPIC, name, LITERAL, "User:ANONYMOUS", "*", DESCRIBE, DENY + 1)
            made = admin.ask(CreateAclsRequest(creations=[entry, allowed]))
            assert [each.error_code for each in made.results] == [0, 0]
        with Client(("::1", broker.six)) as client:
            asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
            # Apache Kafka takes an entry over a little after it has answered.
            deadline = time.monotonic() + (SECONDS if is_denied else 1)
            while (found := client.ask(asked, 12).topics[0].error_code) != REFUSED:
                if time.monotonic() > deadline:
                    break
            told.append(found)
    expected = REFUSED if is_denied else ErrorCode.NONE
    assert told == [expected, expected]
