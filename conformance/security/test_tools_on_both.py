"""Apache Kafka's tools for security print the same for Apache Kafka and for kafkalite.

ACLs, SCRAM users, quotas and delegation tokens, as one who may and as one who may not, over SASL
with TLS and without.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID as Names

from conformance.harness.tool_process import ToolProcess
from conformance.security.pair import (
    MODULES,
    Secured,
    SecuredKafka,
    SecuredKafkalite,
    secured_pair,
)
from conformance.security.test_certificates import certificate, one
from conformance.security.ways import give_password

PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL")
# Each prints the state that it finds. An ACL can be added or removed again without effect.
READS = {"--list", "--describe", "--add", "--remove"}
SETTLING_SECONDS = 10.0
USERS = {"root": "r", "alice": "a"}
TOKEN = re.compile(r"^(\S{22}) +(\S{86}==) +User:", re.MULTILINE)
# These differ between any two brokers: addresses, times, ids and secrets of tokens, traces.
MASKS = (
    (r"--bootstrap-server \S+ --command-config \S+", "SERVER"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d\b", "TIME"),
    (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \w+ \d{4}", "TIME"),
    (r"[A-Za-z0-9+/]{86}==", "HMAC"),
    (r"[\w-]{22}(?= +HMAC)|(?<=tokenId : )[\w-]{22}", "ID"),
    (r"\bat (java|org|kafka|jdk|scala)[^\n]*\n", ""),
    # Kafka shows all of a request in it, a processor's number and a connection's id included.
    (r"Request Request\(.*\) needs", "Request needs"),
    (r"Request [A-Z_]+ needs", "Request needs"),
    (r"[ \t]+", " "),
)


def plain(printed: str) -> list[str]:
    """The lines without what differs, and their parts, in an order: Java's sets have none."""
    for pattern, name in MASKS:
        printed = re.sub(pattern, name, printed)
    lines = (sorted(re.split(", | are ", line.strip())) for line in printed.splitlines())
    return sorted(map(" ".join, lines))


class Both:
    """Runs tools against both brokers; they print the same."""

    def __init__(
        self, brokers: tuple[Secured, Secured], tools: ToolProcess, directory: Path
    ) -> None:
        self._brokers = brokers
        self._tools = tools
        self._directory = directory
        # The output of the last tool for each broker, as it was.
        self.printed = ["", ""]
        for number, broker in enumerate(brokers):
            for user, password in USERS.items():
                line = f'plain.PlainLoginModule required username="{user}" password="{password}"'
                self.log_in(number, user, "PLAIN", line, broker)

    def log_in(self, number: int, user: str, mechanism: str, line: str, broker: Secured) -> None:
        """Settings for one who logs in so."""
        for protocol in PROTOCOLS:
            settings = {
                "security.protocol": protocol,
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": f"{MODULES}.{line};",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": Path(broker.directory) / "authority.pem",
            }
            text = "".join(f"{name}={value}\n" for name, value in settings.items())
            (self._directory / f"{number}-{user}-{protocol}").write_text(text)

    def log_in_to(self, number: int, user: str, listener: str, **settings: str) -> None:
        """Settings for one who logs in to a listener in another way."""
        broker = self._brokers[number]
        made = {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(Path(broker.directory) / "authority.pem"),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        text = "".join(f"{name}={value}\n" for name, value in made.items())
        (self._directory / f"{number}-{user}-{listener}").write_text(text)

    def run(
        self,
        tool: str,
        *arguments: str | tuple[str, str],
        user: str = "root",
        protocol: str = PROTOCOLS[0],
    ) -> str:
        """The lines that both print. A pair has an argument for each broker.

        Apache Kafka's broker may answer from before the last change for a moment: what it lists is
        asked for until it is the same, for SETTLING_SECONDS at most.
        """
        deadline = time.monotonic() + SETTLING_SECONDS
        ours = self._run(1, tool, arguments, user, protocol)
        theirs = self._run(0, tool, arguments, user, protocol)
        while theirs != ours and READS & {*arguments} and time.monotonic() < deadline:
            time.sleep(0.1)
            theirs = self._run(0, tool, arguments, user, protocol)
        assert ours == theirs, (tool, arguments)
        return "\n".join(ours[1])

    def _run(
        self,
        number: int,
        tool: str,
        arguments: tuple[str | tuple[str, str], ...],
        user: str,
        protocol: str,
    ) -> tuple[int, list[str]]:
        """The exit status and the lines of a tool for one of the brokers."""
        broker = self._brokers[number]
        status, self.printed[number] = self._tools.run(
            tool,
            *("--bootstrap-server", "{}:{}".format(*broker.address(protocol))),
            *("--command-config", str(self._directory / f"{number}-{user}-{protocol}")),
            *(each if isinstance(each, str) else each[number] for each in arguments),
        )
        return status, plain(self.printed[number])


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolProcess]:
    with ToolProcess() as process:
        yield process


@pytest.fixture(scope="module")
def secured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[SecuredKafka, SecuredKafkalite]]:
    """Brokers of this module's own: the tools list all ACLs and tokens that there are."""
    with secured_pair(tmp_path_factory.mktemp("secured")) as pair:
        yield pair


@pytest.fixture
def both(secured: tuple[Secured, Secured], tools: ToolProcess, tmp_path: Path) -> Both:
    return Both(secured, tools, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_acls(both: Both, protocol: str) -> None:
    tool = "kafka-acls"
    about: tuple[tuple[str, ...], ...] = (
        ("--allow-principal", "User:alice", "--producer", "--topic", "tools-a"),
        ("--allow-principal", "User:alice", "--consumer", "--topic", "tools-a", "--group", "g"),
        (
            *("--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--operation", "All"),
            *("--topic", "tools-", "--resource-pattern-type", "prefixed"),
        ),
        ("--allow-principal", "User:carol", "--operation", "AlterConfigs", "--cluster"),
        ("--allow-principal", "User:carol", "--operation", "Describe", "--delegation-token", "*"),
        (
            *("--allow-principal", "User:carol", "--producer", "--topic", "tools-b"),
            *("--transactional-id", "t", "--idempotent"),
        ),
        (
            *("--allow-principal", "User:carol", "--operation", "CreateTokens"),
            *("--user-principal", "User:dora"),
        ),
    )
    for each in about:
        assert "permissionType=" in both.run(tool, "--add", *each, protocol=protocol)
    assert "operation=WRITE" in both.run(tool, "--list", protocol=protocol)
    for wanted in (
        ("--topic", "tools-a"),
        ("--topic", "tools-a", "--resource-pattern-type", "match"),
        ("--topic", "tools-", "--resource-pattern-type", "prefixed"),
        ("--principal", "User:alice"),
        ("--group", "*"),
    ):
        both.run(tool, "--list", *wanted, protocol=protocol)
    both.run(tool, "--list", user="alice", protocol=protocol)
    both.run(tool, "--add", *about[0], user="alice", protocol=protocol)
    both.run(tool, "--remove", "--force", *about[0], user="alice", protocol=protocol)
    # Kafka's tool refuses this itself: both must let it come so far.
    both.run(tool, "--add", "--allow-principal", "nobody", "--operation", "Read", "--topic", "t")
    for each in about:
        both.run(tool, "--remove", "--force", *each, protocol=protocol)
    assert "operation=" not in both.run(tool, "--list", protocol=protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_users_and_quotas(both: Both, protocol: str) -> None:
    tool = "kafka-configs"
    erin = ("--entity-type", "users", "--entity-name", "erin")
    everybody = ("--entity-type", "users", "--entity-default")
    client = ("--entity-type", "clients", "--entity-name", "app")
    both_of_them = ("--entity-type", "users", "--entity-type", "clients")
    both_of_them += ("--entity-name", "erin", "--entity-name", "app")
    address = ("--entity-type", "ips", "--entity-name", "10.0.0.9")
    changes: tuple[tuple[tuple[str, ...], str, str], ...] = (
        (erin, "SCRAM-SHA-256=[iterations=8192,password=e]", "SCRAM-SHA-256"),
        (erin, "SCRAM-SHA-512=[password=e]", "SCRAM-SHA-512"),
        (erin, "producer_byte_rate=1024,consumer_byte_rate=2048", "producer_byte_rate"),
        (everybody, "controller_mutation_rate=10", "controller_mutation_rate"),
        (client, "request_percentage=50", "request_percentage"),
        (both_of_them, "consumer_byte_rate=512", "consumer_byte_rate"),
        (address, "connection_creation_rate=5", "connection_creation_rate"),
    )
    for who, config, name in changes:
        both.run(tool, "--alter", *who, "--add-config", config, protocol=protocol)
        assert name in both.run(tool, "--describe", *who, protocol=protocol)
    for wrong in (
        "SCRAM-SHA-256=[iterations=10,password=e]",
        "SCRAM-SHA-1=[password=e]",
        "producer_byte_rate=much",
        "producer_byte_rate=-1",
        "no_such_rate=1",
    ):
        both.run(tool, "--alter", *erin, "--add-config", wrong, protocol=protocol)
    both.run(tool, "--describe", "--entity-type", "users", protocol=protocol)
    both.run(tool, "--describe", *erin, user="alice", protocol=protocol)
    both.run(tool, "--alter", *erin, "--add-config", "producer_byte_rate=1", user="alice")
    both.run(tool, "--alter", *erin, "--add-config", "SCRAM-SHA-256=[password=x]", user="alice")
    for who, _, name in changes:
        both.run(tool, "--alter", *who, "--delete-config", name, protocol=protocol)
    both.run(tool, "--alter", *erin, "--delete-config", "SCRAM-SHA-256", protocol=protocol)
    both.run(tool, "--alter", *erin, "--delete-config", "consumer_byte_rate", protocol=protocol)
    both.run(tool, "--describe", *erin, protocol=protocol)


def test_delegation_tokens(both: Both, secured: tuple[Secured, Secured]) -> None:
    tool = "kafka-delegation-tokens"
    both.run(
        *(tool, "--create", "--max-life-time-period", "-1"),
        *("--renewer-principal", "User:carol"),
    )
    found = [TOKEN.search(printed) for printed in both.printed]
    ids, hmacs = ([each[part] if each else "" for each in found] for part in (1, 2))
    assert all(ids), both.printed
    both.run(tool, "--describe")
    of_root = ("--owner-principal", "User:root")
    assert "HMAC User:" in both.run(tool, "--describe", *of_root, protocol="SASL_SSL")
    both.run(tool, "--describe", "--owner-principal", "User:nobody")
    both.run(tool, "--describe", user="alice")
    hmac = ("--hmac", (hmacs[0], hmacs[1]))
    both.run(tool, "--renew", "--renew-time-period", "60000", *hmac, user="alice")
    both.run(tool, "--renew", "--renew-time-period", "60000", *hmac)
    both.run(tool, "--renew", "--renew-time-period", "60000", "--hmac", "c2hpYmJvbGV0aA==")
    for number, broker in enumerate(secured):
        line = (
            f'scram.ScramLoginModule required username="{ids[number]}" '
            f'password="{hmacs[number]}" tokenauth="true"'
        )
        both.log_in(number, "token", "SCRAM-SHA-256", line, broker)
    both.run("kafka-acls", "--list", user="token")
    both.run(tool, "--create", "--max-life-time-period", "-1", user="token")
    both.run(tool, "--expire", "--expiry-time-period", "-1", *hmac, user="alice")
    both.run(tool, "--expire", "--expiry-time-period", "-1", *hmac)
    assert "HMAC User:" not in both.run(tool, "--describe", *of_root)
    both.run("kafka-acls", "--list", user="token")


def test_other_ways_in(both: Both, secured: tuple[Secured, Secured], tmp_path: Path) -> None:
    """SCRAM, a token of OAUTHBEARER, and a client's certificate; each says who may, and who not."""
    bearer = 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{}"'
    for number, broker in enumerate(secured):
        give_password(broker, "root", "r")
        line = 'scram.ScramLoginModule required username="root" password="r"'
        both.log_in(number, "scram", "SCRAM-SHA-512", line, broker)
        both.log_in(number, "bearer", "OAUTHBEARER", bearer.format("root"), broker)
        both.log_in(number, "other-bearer", "OAUTHBEARER", bearer.format("alice"), broker)
        for user, name in {"certified": "root", "other-certified": "alice"}.items():
            subject = [one(Names.ORGANIZATIONAL_UNIT_NAME, "users"), one(Names.COMMON_NAME, name)]
            file = tmp_path / f"{number}-{user}.pem"
            file.write_text(certificate(broker, subject))
            both.log_in_to(
                *(number, user, "MAPPED"),
                security_protocol="SSL",
                ssl_keystore_type="PEM",
                ssl_keystore_location=str(file),
            )
    listing = ("kafka-configs", "--describe", "--entity-type", "users")
    for user, protocol in (
        ("scram", "SASL_SSL"),
        ("bearer", "SASL_SSL"),
        ("certified", "MAPPED"),
    ):
        assert "iterations=4096" in both.run(*listing, user=user, protocol=protocol)
    for user, protocol in (("other-bearer", "SASL_PLAINTEXT"), ("other-certified", "MAPPED")):
        assert "iterations=" not in both.run(*listing, user=user, protocol=protocol)
