"""Users of clients and brokers, as Bitnami's image takes them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.bitnami_users import configs_of_users, plain_module
from kafkalite.testing import broker

ENVIRONMENT = {
    "KAFKA_CFG_LISTENERS": "SASL_PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.1:0,CONTROLLER://:9093",
    "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,"
    "SASL_PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT",
    "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "INTERNAL",
    "KAFKA_CFG_SASL_ENABLED_MECHANISMS": "PLAIN,SCRAM-SHA-256",
    "KAFKA_CFG_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
    "KAFKA_CLIENT_USERS": "alice,bob",
    "KAFKA_CLIENT_PASSWORDS": 'secret;h"ush',
    "KAFKA_CLIENT_LISTENER_NAME": "SASL_PLAINTEXT",
    "KAFKA_INTER_BROKER_USER": "broker",
    "KAFKA_INTER_BROKER_PASSWORD": "between",
}


def test_the_users_may_log_in(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config = BrokerConfig.from_sources(environment=ENVIRONMENT)
    assert caplog.text == ""
    with broker(config.given) as b:
        address = next(each for each in b._running.listeners if each.name == "SASL_PLAINTEXT")
        for mechanism, user, password in (
            ("PLAIN", "alice", "secret"),
            ("PLAIN", "bob", 'h"ush'),
            ("PLAIN", "broker", "between"),
            ("SCRAM-SHA-256", "bob", 'h"ush'),
        ):
            assert _is_let_in(address.address, mechanism, user, password)
        assert not _is_let_in(address.address, "PLAIN", "alice", "wrong")


def _is_let_in(bootstrap: str, mechanism: str, user: str, password: str) -> bool:
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
        "log_level": 0,
    }
    errors: list[int] = []
    producer = Producer({**settings, "error_cb": lambda error: errors.append(error.code())})
    for _ in range(30):
        try:
            producer.list_topics(timeout=1)
        except KafkaException:
            producer.poll(0)
            if KafkaError._AUTHENTICATION in errors:
                return False
        else:
            return True
    raise AssertionError(errors)


def test_configs_that_are_set_win() -> None:
    users = {"KAFKA_CLIENT_USERS": "a", "KAFKA_CLIENT_PASSWORDS": "b"}
    name = "listener.name.sasl_ssl.plain.sasl.jaas.config"
    configs = {"sasl.enabled.mechanisms": "PLAIN", "listeners": "SASL_SSL://:1,SSL://:2"}
    assert list(configs_of_users(users, configs)) == [name]
    assert configs_of_users(users, {**configs, name: "x"}) == {}
    assert configs_of_users(users, {"listeners": "SASL_SSL://:1"}) == {}
    assert configs_of_users({}, configs) == {}


def test_each_user_has_a_password() -> None:
    with pytest.raises(ConfigError, match="KAFKA_CLIENT_USERS: there are 2, and 1 of KAFKA_CLIENT"):
        BrokerConfig.from_sources(environment={**ENVIRONMENT, "KAFKA_CLIENT_PASSWORDS": "x"})


def test_a_name_that_a_jaas_line_cannot_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="PLAIN: 'a b' cannot be the name of an option"):
        plain_module({"a b": "x"})
