"""Environment variables are read as the images of Kafka read them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.environment import read_environment, variables


@pytest.mark.parametrize(
    ("environment", "configs"),
    [
        ({"KAFKA_A__B___C_D": "1", "PATH": "/bin"}, {"a_b-c.d": "1"}),
        ({"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_ENABLE_KRAFT": "yes", "KAFKA_OPTS": ""}, {}),
        ({"KAFKA_CFG_NUM_PARTITIONS": "2"}, {"num.partitions": "2"}),
        ({"KAFKA_NUM_PARTITIONS": "1", "KAFKA_CFG_NUM_PARTITIONS": "2"}, {"num.partitions": "2"}),
        ({"CLUSTER_ID": "a", "KAFKA_KRAFT_CLUSTER_ID": "b"}, {"kafkalite.cluster.id": "a"}),
        ({"CLUSTER_ID": "", "KAFKA_KRAFT_CLUSTER_ID": "b"}, {"kafkalite.cluster.id": "b"}),
        ({"KAFKA_OPTS": "-Djava.security.auth.login.config=/x y"}, {"kafkalite.jaas.file": "/x"}),
        # A config, and not a port of Kubernetes.
        ({"KAFKA_KAFKALITE_METRICS_PORT": "0"}, {"kafkalite.metrics.port": "0"}),
    ],
)
def test_configs_are_found_in_it(environment: dict[str, str], configs: dict[str, str]) -> None:
    assert read_environment(environment) == configs
    assert all(environment[variables(environment)[name]] for name in configs.keys() - {JAAS})


JAAS = "kafkalite.jaas.file"


@pytest.mark.parametrize("service", ["KAFKA", "KAFKA_HEADLESS"])
def test_what_kubernetes_tells_of_a_service_is_no_config(
    service: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It tells of every service of the namespace, and one named kafka is likely there."""
    environment = {
        f"{service}_PORT": "tcp://10.0.0.1:9092",
        f"{service}_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        f"{service}_PORT_9092_TCP_ADDR": "10.0.0.1",
        f"{service}_PORT_9092_TCP_PORT": "9092",
        f"{service}_PORT_9092_TCP_PROTO": "tcp",
        f"{service}_SERVICE_HOST": "10.0.0.1",
        f"{service}_SERVICE_PORT": "9092",
        f"{service}_SERVICE_PORT_TCP_CLIENT": "9092",
    }
    with caplog.at_level(logging.WARNING):
        BrokerConfig.from_sources(environment=environment)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("advertised", "listeners"),
    [
        ("PLAINTEXT://kafka:29092", "PLAINTEXT://0.0.0.0:29092"),
        ("IN://kafka:1,OUT://localhost:2", "IN://0.0.0.0:1,OUT://0.0.0.0:2"),
        ("IN://[::1]:1, OUT://h:2", "IN://[::]:1, OUT://0.0.0.0:2"),
        ("IN://::1:1", "IN://[::]:1"),
    ],
)
@pytest.mark.parametrize("prefix", ["KAFKA_", "KAFKA_CFG_"])
def test_it_listens_where_it_is_advertised(advertised: str, listeners: str, prefix: str) -> None:
    environment = {f"{prefix}ADVERTISED_LISTENERS": advertised}
    assert read_environment(environment)["listeners"] == listeners
    environment["KAFKA_LISTENERS"] = "IN://127.0.0.1:3"
    assert read_environment(environment)["listeners"] == "IN://127.0.0.1:3"


def test_stores_and_their_passwords_are_files_among_the_secrets(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("letters\n")
    environment = {
        "KAFKA_SSL_KEYSTORE_FILENAME": "server.p12",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "key",
        "KAFKA_SSL_KEY_CREDENTIALS": "key",
        "KAFKA_SSL_TRUSTSTORE_FILENAME": "trusted.p12",
        "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "key",
    }
    assert read_environment(environment, tmp_path) == {
        "ssl.keystore.location": str(tmp_path / "server.p12"),
        "ssl.keystore.password": "letters",
        "ssl.key.password": "letters",
        "ssl.truststore.location": str(tmp_path / "trusted.p12"),
        "ssl.truststore.password": "letters",
    }
    assert variables(environment)["ssl.key.password"] == "KAFKA_SSL_KEY_CREDENTIALS"
    with pytest.raises(ConfigError, match=r"^KAFKA_SSL_KEY_CREDENTIALS: cannot read .*/none: No"):
        read_environment({"KAFKA_SSL_KEY_CREDENTIALS": "none"}, tmp_path)


# People have such files for Bitnami's image and for Confluent's.
BITNAMI = {
    "ALLOW_PLAINTEXT_LISTENER": "yes",
    "KAFKA_CFG_NODE_ID": "0",
    "KAFKA_CFG_PROCESS_ROLES": "controller,broker",
    "KAFKA_CFG_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093,EXTERNAL://:9094",
    "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092,EXTERNAL://localhost:9094",
    "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT,"
    "PLAINTEXT:PLAINTEXT",
    "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": "0@kafka:9093",
    "KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_ENABLE_KRAFT": "yes",
    "KAFKA_KRAFT_CLUSTER_ID": "abcdefghijklmnopqrstuv",
}
CONFLUENT = {
    "KAFKA_BROKER_ID": "0",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092,EXTERNAL://localhost:9094",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_JMX_PORT": "9101",
}


@pytest.mark.parametrize("environment", [BITNAMI, CONFLUENT], ids=["bitnami", "confluent"])
def test_environments_of_others_are_taken_as_they_are(
    environment: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        config = BrokerConfig.from_sources(environment=environment)
    assert caplog.text == ""
    assert config.node_id == 0
    assert [each.port for each in config.listeners()] == [9092, 9094]
    told = [(each.host, each.port) for each in config.advertised_listeners()]
    assert told == [("kafka", 9092), ("localhost", 9094)]
