"""Clients of every kind log in with every mechanism, with and without TLS, and write and read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.helpers import create_ssl_context
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

from conformance.harness.asyncio_runs import run_in_asyncio
from conformance.harness.tools import run_tool
from conformance.security.flags import FlaggedKafkalite

SECONDS = 30
WAYS = [
    ("plain", False),
    ("scram-sha-256", True),
    ("scram-sha-512", False),
    ("oauthbearer", True),
    (None, True),
]
OTHER_WAYS = [
    ("plain", True),
    ("scram-sha-256", False),
    ("scram-sha-512", True),
    ("oauthbearer", False),
]


@pytest.fixture(
    scope="module",
    params=[*WAYS, *(pytest.param(way, marks=pytest.mark.long) for way in OTHER_WAYS)],
    ids=lambda way: f"{way[0]}-{'tls' if way[1] else ''}",
)
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FlaggedKafkalite]:
    mechanism, tls = request.param
    flags = [] if mechanism is None else ["--sasl", f"{mechanism}:alice:s e:c\\ret"]
    if tls:
        flags += ["--tls", "auto"]
    started = FlaggedKafkalite(tmp_path_factory.mktemp("secured"), *flags, "--acls")
    yield started
    started.stop()


def speaks_oauth(broker: FlaggedKafkalite) -> bool:
    return broker.settings("java").get("sasl.mechanism") == "OAUTHBEARER"


def test_librdkafka(broker: FlaggedKafkalite) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, **broker.settings("librdkafka")}
    failed: list[KafkaError | None] = []
    producer = Producer(settings)
    producer.produce("librdkafka", b"v", on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(SECONDS) == 0
    assert failed == [None]
    consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["librdkafka"])
    try:
        deadline = time.monotonic() + SECONDS
        while (message := consumer.poll(1)) is None or message.error():
            assert time.monotonic() < deadline
        assert message.value() == b"v"
    finally:
        consumer.close()


def test_kafka_python(broker: FlaggedKafkalite) -> None:
    if speaks_oauth(broker):
        pytest.skip("it wants a token provider of the application's own")
    settings = {"bootstrap_servers": broker.bootstrap, **broker.settings("kafka_python")}
    producer = KafkaProducer(**settings)
    producer.send("kafka-python", b"v").get(SECONDS)
    producer.close()
    consumer = KafkaConsumer(
        "kafka-python",
        **settings,
        group_id="g",
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1000,
    )
    assert next(iter(consumer)).value == b"v"
    consumer.close()


def test_aiokafka(broker: FlaggedKafkalite) -> None:
    if speaks_oauth(broker):
        pytest.skip("it wants a token provider of the application's own")
    settings: dict[str, object] = dict(broker.settings("kafka_python"))
    authority = settings.pop("ssl_cafile", None)
    if authority is not None:
        certificate = settings.pop("ssl_certfile", None)
        settings.pop("ssl_keyfile", None)
        settings["ssl_context"] = create_ssl_context(
            cafile=authority, certfile=certificate, keyfile=certificate
        )

    async def there_and_back() -> bytes:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, **settings)
        await producer.start()
        await producer.send_and_wait("aiokafka", b"v")
        await producer.stop()
        consumer = AIOKafkaConsumer(
            "aiokafka",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            **settings,
        )
        await consumer.start()
        try:
            return bytes((await asyncio.wait_for(consumer.getone(), SECONDS)).value)
        finally:
            await consumer.stop()

    assert run_in_asyncio(there_and_back()) == b"v"


def properties(path: Path, settings: dict[str, str]) -> str:
    """A file of settings for Java."""
    path.write_text(
        "".join(f"{name}={value}\n".replace("\\", "\\\\") for name, value in settings.items())
    )
    return str(path)


def test_java(broker: FlaggedKafkalite, tmp_path: Path) -> None:
    settings = properties(tmp_path / "client.properties", broker.settings("java"))
    server = ("--bootstrap-server", broker.bootstrap, "--command-config", settings)
    wrote = run_tool("kafka-console-producer", *server, "--topic", "java", given="v\n")
    assert wrote.status == 0, wrote
    read = run_tool(
        *("kafka-console-consumer", *server, "--topic", "java", "--from-beginning"),
        *("--max-messages", "1", "--timeout-ms", "30000"),
    )
    assert read.lines == ["v"], read


def test_a_wrong_password(broker: FlaggedKafkalite) -> None:
    settings = broker.settings("librdkafka")
    if "sasl.password" not in settings:
        pytest.skip("there is no password")
    settings["sasl.password"] = "wrong"
    told: list[KafkaError] = []
    admin = AdminClient(
        {"bootstrap.servers": broker.bootstrap, **settings, "error_cb": told.append}
    )
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=5)
    admin.poll(1)
    assert KafkaError._AUTHENTICATION in [error.code() for error in told]
