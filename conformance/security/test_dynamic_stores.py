"""Key and trust stores that are changed while a broker runs (KIP-226), asked of both brokers.

New connections are shown the certificate of the last store that was not refused.
"""

from __future__ import annotations

import re
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.ports import free_ports
from conformance.security.pair import Client
from kafkalite.security.certificates import Authority
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

BROKER = 4
INVALID_REQUEST = 42
DYNAMIC_BROKER = 2  # the source of a config that was changed for this node
SECONDS = 20
STORE = "listener.name.external.ssl"


def with_store(plain: int, store: Path) -> dict[str, str]:
    """Three listeners with key stores of their own. FREE may get one of other names."""
    names = ("EXTERNAL", "NAMED", "FREE")
    ports = dict(zip(names, free_ports(3), strict=True))
    listeners = ",".join(
        f"{name}://127.0.0.1:{port}" for name, port in {"PLAINTEXT": plain, **ports}.items()
    )
    named = str(store.parent / "named.pem")
    stores = {"external": str(store), "named": named, "free": named}
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": ",".join(
            ("CONTROLLER:PLAINTEXT", "PLAINTEXT:PLAINTEXT", *(f"{name}:SSL" for name in names))
        ),
        **{f"listener.name.{name}.ssl.keystore.type": "PEM" for name in stores},
        **{f"listener.name.{name}.ssl.keystore.location": file for name, file in stores.items()},
        "listener.name.free.ssl.allow.dn.changes": "true",
        "listener.name.free.ssl.allow.san.changes": "true",
    }


class KafkaWithStore(ApacheKafka):
    """Apache Kafka with a listener for TLS."""

    def __init__(self, directory: Path, store: Path) -> None:
        self._store = store
        super().__init__(directory)

    def format(self, node_id: int, properties: Mapping[str, str]) -> None:
        own = with_store(self.ports[0], self._store)
        self.listeners = own["listeners"]
        own["listeners"] += f",CONTROLLER://127.0.0.1:{self.controller_ports[0]}"
        super().format(node_id, {**properties, **own})


class KafkaliteWithStore(Kafkalite):
    """kafkalite with the same listeners."""

    def __init__(self, directory: Path, store: Path) -> None:
        (plain,) = free_ports(1)
        own = with_store(plain, store)
        self.listeners = own["listeners"]
        super().__init__(directory, own)

    def listener_flags(self) -> list[str]:
        return []


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and certificates, and files that are none."""
    directory = tmp_path_factory.mktemp("stores")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    # Java reads keys of this form only.
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for name in ("first.pem", "other.pem"):
        (directory / name).write_bytes(pem + issued.cert_chain_pems[0].bytes())
    (directory / "broken.pem").write_text("no key")
    named = Authority()
    for name, subject, hosts in (
        ("named.pem", "one", ["127.0.0.1", "a.example"]),
        ("same-names.pem", "One", ["127.0.0.1", "b.example", "a.example"]),
        ("other-subject.pem", "other", ["127.0.0.1", "a.example"]),
        ("other-host.pem", "one", ["127.0.0.1"]),
    ):
        (directory / name).write_text(named.issue(subject, hosts))
    return directory


@pytest.fixture(scope="module")
def brokers(
    tmp_path_factory: pytest.TempPathFactory, store: Path
) -> Iterator[tuple[Broker, Broker]]:
    directory = tmp_path_factory.mktemp("dynamic")
    with ExitStack() as stack:
        ours = KafkaliteWithStore(directory / "kafkalite", store / "first.pem")
        stack.callback(ours.stop)
        theirs = KafkaWithStore(directory / "kafka", store / "first.pem")
        stack.callback(theirs.stop)
        yield theirs, ours


def altered(broker: Broker, configs: Mapping[str, str], node: str = "1") -> tuple[int, str | None]:
    """The answer to a change of a node's configs, "" for all of them: code and message."""
    return _told(
        broker,
        node,
        [
            AlterableConfig(name=name, config_operation=0, value=value)
            for name, value in configs.items()
        ],
    )


def cleared(broker: Broker, names: Iterable[str], node: str = "1") -> tuple[int, str | None]:
    """The answer to taking configs of a node back; the node has taken them back then.

    Apache Kafka's answer comes before that, and the next change would be judged beside them.
    """
    configs = [AlterableConfig(name=name, config_operation=1, value=None) for name in names]
    told = _told(broker, node, configs)
    deadline = time.monotonic() + SECONDS
    while not told[0] and _dynamic(broker, node) & {each.name for each in configs}:
        assert time.monotonic() < deadline, "the node keeps what it is to take back"
        time.sleep(0.02)
    return told


def _dynamic(broker: Broker, node: str) -> set[str]:
    """The configs that a node has because they were changed for it."""
    resource = DescribeConfigsResource(BROKER, node, configuration_keys=None)
    with Client(_address(broker)) as client:
        answer: Any = client.ask(DescribeConfigsRequest(resources=[resource]))
    configs = answer.results[0].configs
    return {each.name for each in configs if each.config_source == DYNAMIC_BROKER}


def _told(broker: Broker, node: str, configs: list[AlterableConfig]) -> tuple[int, str | None]:
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=node, configs=configs)
    with Client(_address(broker)) as client:
        answer: Any = client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    return answer.responses[0].error_code, answer.responses[0].error_message


def _address(broker: Broker) -> tuple[str, int]:
    host, _, port = broker.bootstrap.split(",")[0].rpartition(":")
    return host, int(port)


@pytest.mark.parametrize(
    ("configs", "is_refused"),
    [
        ({"keystore.location": "missing.pem"}, True),
        ({"keystore.location": "broken.pem"}, True),
        ({"keystore.type": "JKS"}, True),
        ({"keystore.password": "hush"}, True),
        ({"truststore.location": "missing.pem", "truststore.type": "PEM"}, True),
        ({"truststore.location": "first.pem", "truststore.type": "PEM"}, True),
        ({"keystore.location": "other.pem"}, False),
    ],
    ids=str,
)
def test_stores(
    brokers: tuple[Broker, Broker], store: Path, configs: dict[str, str], is_refused: bool
) -> None:
    """The reason why a file cannot be read is told in our own words, all else in Kafka's."""
    given = {
        f"{STORE}.{name}": str(store / value) if name.endswith("location") else value
        for name, value in configs.items()
    }
    (code, message), ours = (altered(each, given) for each in brokers)
    assert code == (INVALID_REQUEST if is_refused else 0)
    assert ours[0] == code
    if is_refused:
        assert message is not None
        assert ours[1] is not None
        begin, failed, _ = message.partition("Exception: Failed to load")
        if failed:
            assert ours[1].startswith(begin)
            assert ours[1].endswith(message.rpartition(" for configuration ")[2])
        else:
            assert ours[1] == message


def test_the_same_store_is_not_judged_again(brokers: tuple[Broker, Broker], store: Path) -> None:
    """Its file may have changed since. What cannot be used is not, and the listener goes on."""
    file = store / "same.pem"
    good = (store / "named.pem").read_text()
    file.write_text(good)
    config = {"listener.name.named.ssl.keystore.location": str(file)}
    assert [altered(each, config) for each in brokers] == [(0, None)] * 2
    deadline = time.monotonic() + SECONDS
    while any(config.keys() - _dynamic(each, "1") for each in brokers):
        assert time.monotonic() < deadline, "the node does not take it"
        time.sleep(0.02)
    time.sleep(1)  # Apache Kafka's listeners follow a little later
    file.write_text("broken")
    assert [altered(each, config) for each in brokers] == [(0, None)] * 2
    assert [shown(each, "named", store, "named.pem", is_refused=False) for each in brokers] == [
        *(True, True)
    ]
    assert [cleared(each, config) for each in brokers] == [(0, None)] * 2


@pytest.mark.parametrize("listener", ["named", "free"])
@pytest.mark.parametrize(
    "file", ["same-names.pem", "named.pem", "other-subject.pem", "other-host.pem"]
)
def test_names_of_certificates(
    brokers: tuple[Broker, Broker], store: Path, listener: str, file: str
) -> None:
    """A new store has the names of the one before, unless other ones are allowed."""
    config = {f"listener.name.{listener}.ssl.keystore.location": str(store / file)}
    theirs, ours = (altered(each, config) for each in brokers)
    is_refused = listener == "named" and file != "same-names.pem"
    assert theirs[0] == (INVALID_REQUEST if is_refused else 0), theirs
    assert ours[0] == theirs[0]
    seen = [shown(each, listener, store, file, is_refused=is_refused) for each in brokers]
    assert seen == [True, True]
    # Java has the names of a host in no order.
    assert words(ours[1]) == words(theirs[1])


def shown(broker: Broker, listener: str, store: Path, file: str, *, is_refused: bool) -> bool:
    """True once a new connection is shown the certificate of the file, or is not if refused."""
    assert isinstance(broker, KafkaWithStore | KafkaliteWithStore)
    found = re.search(rf"{listener.upper()}://127.0.0.1:(\d+)", broker.listeners)
    assert found is not None
    wanted = x509.load_pem_x509_certificate((store / file).read_bytes())
    deadline = time.monotonic() + SECONDS
    while True:
        pem = ssl.get_server_certificate(("127.0.0.1", int(found[1])))
        is_shown = x509.load_pem_x509_certificate(pem.encode()) == wanted
        if is_refused:
            return not is_shown
        if is_shown or time.monotonic() > deadline:
            return is_shown
        time.sleep(0.05)


def words(message: str | None) -> Counter[str]:
    return Counter(re.split(r"[][{}, ]+", message or ""))
