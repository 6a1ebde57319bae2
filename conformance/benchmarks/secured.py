"""Logins and ACLs: TLS handshakes and SCRAM logins per CPU second, and tiny requests with ACLs."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.benchmarks.results import THEIRS
from conformance.benchmarks.sampling import Side, ask, cpu_seconds, thread_seconds
from conformance.benchmarks.tiny import Tiny
from conformance.harness.apache_kafka import SERVER_JVM_FLAGS
from conformance.harness.broker import Broker
from conformance.security.conversations import scram
from conformance.security.pair import SECURITY, Client, Secured, SecuredKafka, SecuredKafkalite
from conformance.security.ways import give_password
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest

QUICK = 20  # a quick run is so many times smaller
_AUTHORIZER = {"authorizer.class.name", "super.users"}
WITHOUT_ACLS = {name: text for name, text in SECURITY.items() if name not in _AUTHORIZER}
WITH_ACLS = {
    "authorizer.class.name": SECURITY["authorizer.class.name"],
    "allow.everyone.if.no.acl.found": "true",
}
TOPIC, LITERAL, PREFIXED, ALLOW = 2, 3, 4, 3
ALL = 2


class ServerKafka(SecuredKafka):
    """Apache Kafka with the JVM of a server."""

    jvm_flags = SERVER_JVM_FLAGS


def secured(side: Side) -> Secured:
    """A new broker with a listener of each protocol, and no authorizer."""
    kind = ServerKafka if side.kind == THEIRS else SecuredKafkalite
    made = side.start(WITHOUT_ACLS, kind)
    assert isinstance(made, SecuredKafka | SecuredKafkalite)
    return made


def tls_settings(broker: Secured) -> Mapping[str, str]:
    """librdkafka's settings for the listener with TLS."""
    return {
        "bootstrap.servers": "{}:{}".format(*broker.address("SSL")),
        "security.protocol": "ssl",
        "ssl.ca.location": str(Path(broker.directory) / "authority.pem"),
    }


class Logins:
    """New connections one after the other, each of which logs in. `way` is "tls" or "scram"."""

    def __init__(self, side: Side, *, way: str, count: int) -> None:
        self.side, self.broker = side, secured(side)
        self.count = count // QUICK if side.quick else count
        self.log_in: Callable[[], None] = getattr(self, way)
        self.context = ssl.create_default_context(
            cafile=str(Path(self.broker.directory) / "authority.pem")
        )
        give_password(self.broker, "alice", "a")
        self.sample()  # warm

    def tls(self) -> None:
        """A whole handshake, and a request. A new context resumes nothing."""
        host, port = self.broker.address("SSL")
        with (
            socket.create_connection((host, port)) as plain,
            self.context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            client = Client.over(connection)
            answer = client.ask(ApiVersionsRequest("bench", "1"), 3)
            assert answer.error_code == ErrorCode.NONE
            assert not connection.session_reused

    def scram(self) -> None:
        """A login with SCRAM-SHA-256."""
        with Client(self.broker.address("SASL_PLAINTEXT")) as client:
            conversation = scram("SCRAM-SHA-256")()
            said = next(conversation)
            answers = []
            while said is not None:
                answers.append(client.exchange(said))
                try:
                    said = conversation.send(answers[-1])
                except StopIteration:
                    break
            assert b"v=" in (answers[-1] or b""), answers

    def sample(self) -> dict[str, float]:
        before = cpu_seconds(self.broker.pid)
        for _ in range(self.count):
            self.log_in()
        cpu = max(cpu_seconds(self.broker.pid) - before, 0.01)
        return {"logins per CPU s": self.count / cpu}

    def close(self) -> None:
        self.side.stop(self.broker)


class TinyBeside:
    """Tiny Produce over plaintext to a broker with some security, beside one without any.

    They take turns, which are short: the machine's pace changes within seconds.
    """

    FIGURE = ""
    TURNS = 12
    TURN_SECONDS = 0.25

    def __init__(self, side: Side) -> None:
        self.side = side
        self.brokers = [side.start(), self.guarded()]
        self.tinies = [
            Tiny(
                Side(side.kind, side.new, side.directory, side.quick, shared=broker),
                request="produce",
                connections=8,
            )
            for broker in self.brokers
        ]

    def guarded(self) -> Broker:
        """The broker with security."""
        raise NotImplementedError

    def sample(self) -> dict[str, float]:
        answered, spent = [0, 0], [0.0, 0.0]
        for turn in range(self.TURNS // QUICK + 1 if self.side.quick else self.TURNS):
            for number in (0, 1) if turn % 2 else (1, 0):
                before = thread_seconds(self.brokers[number].pid)
                answered[number] += self.tinies[number].loaded(self.TURN_SECONDS).answer_count
                spent[number] += thread_seconds(self.brokers[number].pid) - before
        without, guarded = (answered[number] / spent[number] for number in (0, 1))
        return {self.FIGURE: guarded / without}

    def close(self) -> None:
        for broker in self.brokers:
            self.side.stop(broker)


class TinyWithAcls(TinyBeside):
    """With an authorizer and a hundred entries."""

    ENTRIES = 100
    FIGURE = "with ACLs : without"

    def __init__(self, side: Side) -> None:
        super().__init__(side)
        give_entries(self.brokers[1], self.tinies[1].topic, self.ENTRIES)

    def guarded(self) -> Broker:
        return self.side.start(WITH_ACLS)


class TinyWithoutAcls(TinyBeside):
    """With listeners for TLS and SASL beside the plaintext one, and no authorizer."""

    FIGURE = "secured listeners : none"

    def guarded(self) -> Broker:
        return secured(self.side)


def give_entries(broker: Broker, topic: str, count: int) -> None:
    """ACLs that allow everybody the topic, and others that say nothing of it."""
    entries = [
        AclCreation(TOPIC, topic, LITERAL, "User:ANONYMOUS", "*", ALL, ALLOW),
        *(
            AclCreation(TOPIC, f"other-{n}", PREFIXED, f"User:user-{n}", "*", ALL, ALLOW)
            for n in range(count - 1)
        ),
    ]
    answer = ask(broker.bootstrap, ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=entries))
    assert all(each.error_code == ErrorCode.NONE for each in answer.results), answer
