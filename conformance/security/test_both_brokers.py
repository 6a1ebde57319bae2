"""Unmodified clients log in to Apache Kafka and to kafkalite in every way, and with a wrong secret.

Apache Kafka's tools: test_tools_on_both.py.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Consumer, KafkaError, Producer
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaTimeoutError
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokenProvider

from conformance.clients.environments import ClientMissing, Runnable, go_client, node_client
from conformance.clients.matrix import CLIENTS, Client
from conformance.harness.asyncio_runs import run_in_asyncio
from conformance.harness.java_program import program_command
from conformance.security.pair import MODULES, Secured
from conformance.security.ways import Way, ways

SECONDS = 300
RECORD_SECONDS = 60
PROGRAMS = Path(__file__).parent / "programs"
# Apache Kafka, which shows that the programs are right, and kafkalite.
on_both = pytest.mark.parametrize(
    "which", [pytest.param(0, marks=pytest.mark.long), 1], ids=["kafka", "kafkalite"]
)


def client_of(name: str, program: str) -> Client:
    """The newest version, with a program of ours."""
    found = [client for client in CLIENTS if client.name == name][-1]
    return Client(f"{name}-logins", found.version, str(PROGRAMS / program), found.packages)


@pytest.mark.parametrize(
    ("client", "runnable"),
    [
        (client_of("kafkajs", "logins.js"), node_client),
        (client_of("franz-go", "logins.go"), go_client),
    ],
    ids=["kafkajs", "franz-go"],
)
@on_both
def test_programs(
    secured: tuple[Secured, Secured],
    which: int,
    client: Client,
    runnable: Callable[[Client], Runnable],
) -> None:
    try:
        built = runnable(client)
    except ClientMissing as missing:
        pytest.skip(f"left out: {missing}")
    # KafkaJS does not look at what a broker says of a token.
    asked = [way for way in ways(secured[which]) if not (way.token and way.refused)]
    ran = subprocess.run(
        [*built.command, json.dumps([way.as_json() for way in asked])],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **built.environment},
    )
    assert ran.stdout.splitlines() == [f"passed: {way.name}" for way in asked], ran.stderr


MODULE_OF = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
    "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule",
}


def java_settings(way: Way) -> dict[str, str]:
    settings = {
        "way.name": way.name,
        "way.topic": way.topic,
        "bootstrap.servers": way.bootstrap,
        "security.protocol": way.protocol,
        "group.id": way.topic,
        "auto.offset.reset": "earliest",
    }
    if way.authority:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": way.authority}
    if way.mechanism:
        login = f'username="{way.user}" password="{way.password}"'
        if way.token:
            login = f'unsecuredLoginStringClaim_sub="{way.user}"'
        line = f"{MODULES}.{MODULE_OF[way.mechanism]} required {login};"
        settings |= {"sasl.mechanism": way.mechanism, "sasl.jaas.config": line}
    return settings | ({"way.refused": ""} if way.refused else {})


@on_both
def test_java(secured: tuple[Secured, Secured], which: int) -> None:
    # It looks at a token before it sends it, so what is wrong with one is not the broker's.
    asked = [way for way in ways(secured[which]) if not (way.token and way.refused)]
    texts = [
        "".join(
            "{}={}\n".format(name, value.replace("\n", "\\n"))
            for name, value in java_settings(way).items()
        )
        for way in asked
    ]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    ran = subprocess.run(
        [*program_command(PROGRAMS / "Logins.java", quiet), *texts],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.stdout.splitlines() == [f"passed: {way.name}" for way in asked], ran.stderr


@on_both
def test_librdkafka(secured: tuple[Secured, Secured], which: int) -> None:
    for way in ways(secured[which]):
        told: list[KafkaError] = []
        settings: dict[str, Any] = {
            "bootstrap.servers": way.bootstrap,
            "security.protocol": way.protocol,
            "error_cb": told.append,
        }
        if way.authority:
            settings["ssl.ca.pem"] = way.authority
        if way.mechanism:
            settings["sasl.mechanism"] = way.mechanism
        if way.token:
            token, end = way.token, time.time() + 3600
            settings["oauth_cb"] = lambda _, token=token, end=end: (token, end)
        elif way.mechanism:
            settings |= {"sasl.username": way.user, "sasl.password": way.password}
        producer = Producer(settings)
        producer.produce(way.topic, way.name)
        if way.refused:
            deadline = time.monotonic() + RECORD_SECONDS
            while KafkaError._AUTHENTICATION not in [error.code() for error in told]:
                assert time.monotonic() < deadline, (way.name, told)
                producer.poll(0.1)
            producer.purge()
            continue
        assert producer.flush(RECORD_SECONDS) == 0, (way.name, told)
        more = {"group.id": way.topic, "auto.offset.reset": "earliest"}
        consumer = Consumer(settings | more)
        consumer.subscribe([way.topic])
        deadline = time.monotonic() + RECORD_SECONDS
        while (message := consumer.poll(1)) is None or message.error():
            assert time.monotonic() < deadline, (way.name, told)
        assert message.value() == way.name.encode()
        consumer.close()


def python_settings(way: Way, provider: Callable[[str], object]) -> dict[str, Any]:
    """Settings that kafka-python and aiokafka share."""
    settings: dict[str, Any] = {
        "bootstrap_servers": way.bootstrap,
        "security_protocol": way.protocol,
    }
    if way.authority:
        settings["ssl_context"] = ssl.create_default_context(cadata=way.authority)
    if way.mechanism:
        settings["sasl_mechanism"] = way.mechanism
    if way.token:
        settings["sasl_oauth_token_provider"] = provider(way.token)
    elif way.mechanism:
        settings |= {"sasl_plain_username": way.user, "sasl_plain_password": way.password}
    return settings


class KafkaPythonToken(KafkaPythonTokenProvider):
    """The token of a way."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token


class AiokafkaToken(AbstractTokenProvider):
    """The token of a way."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


# kafka-python does not close a TLS socket whose handshake fails, or is not over when the client is
# closed (KafkaConnectionManager._build_transport).
@pytest.mark.filterwarnings("ignore:unclosed <:ResourceWarning")
@on_both
def test_kafka_python(secured: tuple[Secured, Secured], which: int) -> None:
    for way in ways(secured[which]):
        if way.refused:
            continue
        settings = python_settings(way, KafkaPythonToken)
        producer = KafkaProducer(**settings)
        producer.send(way.topic, way.name.encode()).get(RECORD_SECONDS)
        producer.close()
        consumer = KafkaConsumer(
            way.topic,
            **settings,
            group_id=way.topic,
            auto_offset_reset="earliest",
            consumer_timeout_ms=RECORD_SECONDS * 1000,
        )
        assert next(iter(consumer)).value == way.name.encode()
        consumer.close()
    gc.collect()  # while the warnings are filtered


def _told_since(broker: Secured, logged: int) -> bool:
    """Tells whether a broker's log says after so many bytes that a login failed."""
    with broker.output.open("rb") as file:
        file.seek(logged)
        return b"ailed authentication" in file.read()


# Nor does it close any socket of a client that was never made.
@pytest.mark.filterwarnings("ignore:unclosed <:ResourceWarning")
@on_both
def test_kafka_python_with_a_wrong_secret(
    secured: tuple[Secured, Secured], which: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It tries until its time is over; the broker says why, once a second.

    Where an answer and the end of its connection come together, it sees only the end.
    """
    caplog.set_level(logging.CRITICAL + 1, "kafka")  # pytest keeps what is logged, and its sockets
    for way in ways(secured[which]):
        if way.refused:
            logged = secured[which].output.stat().st_size
            tries_until = time.monotonic() + RECORD_SECONDS
            while not _told_since(secured[which], logged):
                assert time.monotonic() < tries_until, way.name
                with pytest.raises(KafkaTimeoutError, match="Unable to bootstrap"):
                    KafkaProducer(
                        **python_settings(way, KafkaPythonToken), bootstrap_timeout_ms=1500
                    )
    gc.collect()  # while the warnings are filtered


@on_both
def test_aiokafka(secured: tuple[Secured, Secured], which: int) -> None:
    async def there_and_back(way: Way) -> None:
        settings = python_settings(way, AiokafkaToken)
        producer = AIOKafkaProducer(**settings)
        await producer.start()
        await producer.send_and_wait(way.topic, way.name.encode())
        await producer.stop()
        consumer = AIOKafkaConsumer(
            way.topic, **settings, group_id=way.topic, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            record = await asyncio.wait_for(consumer.getone(), RECORD_SECONDS)
            assert record.value == way.name.encode()
        finally:
            await consumer.stop()

    for way in ways(secured[which]):
        if not way.refused:
            run_in_asyncio(there_and_back(way))


@on_both
def test_aiokafka_with_a_wrong_secret(
    secured: tuple[Secured, Secured], which: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def refused(way: Way) -> None:
        producer = AIOKafkaProducer(**python_settings(way, AiokafkaToken))
        try:
            with pytest.raises(KafkaConnectionError, match="Unable to bootstrap"):
                await producer.start()
        finally:
            await producer.stop()

    # It does not look at what a broker says of a token, and nor does KafkaJS.
    for way in ways(secured[which]):
        if way.refused and not way.token:
            caplog.clear()
            run_in_asyncio(refused(way))
            assert "Authentication failed" in caplog.text, way.name
