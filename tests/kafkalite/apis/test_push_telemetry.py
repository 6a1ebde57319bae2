"""PushTelemetry: metrics are shown to Prometheus, and bytes that are none are refused."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.apis import push_telemetry
from kafkalite.testing import broker as test_broker
from kafkalite.wire.compression import Compression, compress, decompress
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.kafka_uuid import kafka_uuid
from kafkalite.wire.messages.push_telemetry import PushTelemetryRequest
from tests.kafkalite.apis.test_get_telemetry_subscriptions import get, name_itself, subscribe
from tests.kafkalite.scraping import SECONDS, scrape
from tests.kafkalite.telemetry.pushes import counter, gauge, pushed

PAYLOAD = pushed(gauge("org.apache.kafka.producer.m", 1.5, node="1"), counter("n", 2))
ON = {"kafkalite.client.telemetry": "true", "kafkalite.metrics.port": 0}


@pytest.fixture
async def receiving() -> AsyncIterator[test_broker]:
    async with test_broker(ON) as running:
        yield running


class Pusher:
    """A client that was asked for all metrics."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def begin(self) -> UUID:
        await name_itself(self.client, "a-client")
        await subscribe(self.client, "all", metrics="*", interval_ms="100")
        answer = await get(self.client)
        self.instance_id: UUID = answer.client_instance_id
        self.subscription_id: int = answer.subscription_id
        return self.instance_id

    async def push(self, metrics: bytes, **fields: Any) -> int:
        """The answer's error code."""
        request = PushTelemetryRequest(
            **{
                "client_instance_id": self.instance_id,
                "subscription_id": self.subscription_id,
                "metrics": metrics,
                **fields,
            }
        )
        return (await self.client.ask(request)).error_code


async def shown(running: test_broker) -> dict[str, tuple[dict[str, str], float]]:
    """The pushed metrics that Prometheus reads, by name."""
    samples = await trio.to_thread.run_sync(scrape, running)
    return {
        name: (dict(labels), value)
        for (name, labels), value in samples.items()
        if name.startswith(("client_", "kafkalite_client"))
    }


@pytest.mark.parametrize("codec", Compression)
async def test_pushed_metrics_are_shown(receiving, connect, codec: Compression) -> None:
    pusher = Pusher(await connect(receiving))
    instance_id = await pusher.begin()
    data = compress(codec, PAYLOAD)
    assert await pusher.push(data, compression_type=codec) == ErrorCode.NONE
    seen = await shown(receiving)
    own = {"client_id": "test", "client_instance_id": kafka_uuid(instance_id)}
    assert seen["client_producer_m"] == ({**own, "node": "1"}, 1.5)
    assert seen["client_n_total"] == (own, 2.0)
    labels, _ = seen["kafkalite_client_info"]
    assert labels == {
        **own,
        "client_software_name": "a-client",
        "client_software_version": "1.0",
        "client_source_address": "127.0.0.1",
    }
    assert seen["kafkalite_client_instances"] == ({}, 1.0)


async def test_a_thread_decompresses(receiving, connect, monkeypatch) -> None:
    threads = []

    def noted(*arguments: Any) -> bytes:
        threads.append(threading.current_thread())
        return decompress(*arguments)

    monkeypatch.setattr(push_telemetry, "decompress", noted)
    pusher = Pusher(await connect(receiving))
    await pusher.begin()
    data = compress(Compression.GZIP, b"") * 3000 + compress(Compression.GZIP, PAYLOAD)
    assert await pusher.push(data, compression_type=Compression.GZIP) == ErrorCode.NONE
    assert threads
    assert threading.main_thread() not in threads


async def test_metrics_outlive_the_connection(receiving, connect) -> None:
    client = await connect(receiving)
    pusher = Pusher(client)
    await pusher.begin()
    assert await pusher.push(PAYLOAD, terminating=True) == ErrorCode.NONE
    await trio.aclose_forcefully(client.stream)
    with trio.fail_after(SECONDS):
        seen = await shown(receiving)
        while seen["kafkalite_client_instances"] != ({}, 0.0):
            seen = await shown(receiving)
    assert seen["client_producer_m"][1] == 1.5


@pytest.mark.parametrize(
    ("data", "codec"),
    [
        (b"\xff\xff", Compression.NONE),
        (b"not compressed", Compression.ZSTD),
        (compress(Compression.GZIP, bytes(1_048_577)), Compression.GZIP),
    ],
    ids=["no metrics", "not compressed", "unfolds to too much"],
)
async def test_bytes_that_are_no_metrics(receiving, connect, data: bytes, codec: int) -> None:
    pusher = Pusher(await connect(receiving))
    await pusher.begin()
    assert await pusher.push(data, compression_type=codec) == ErrorCode.INVALID_RECORD
    assert "client_producer_m" not in await shown(receiving)


async def test_without_a_receiver_pushes_are_checked_and_thrown_away(clients) -> None:
    pusher = Pusher(await clients.connect())
    await pusher.begin()
    assert await pusher.push(b"\xff\xff") == ErrorCode.NONE
    assert await pusher.push(b"\xff", compression_type=4, terminating=True) == (
        ErrorCode.INVALID_RECORD
    )


async def test_an_empty_push(receiving, connect) -> None:
    pusher = Pusher(await connect(receiving))
    await pusher.begin()
    assert await pusher.push(b"", compression_type=Compression.ZSTD) == ErrorCode.NONE


async def test_a_large_push_is_read_in_slices(receiving, connect) -> None:
    """The fixture that watches the loop is the judge."""
    pusher = Pusher(await connect(receiving))
    await pusher.begin()
    data = pushed(*(gauge(f"m{number}", number, node="1") for number in range(10_000)))
    assert len(data) < 1_048_576
    assert await pusher.push(data) == ErrorCode.NONE
    assert len(await shown(receiving)) > 10_000


async def test_a_refused_push(receiving, connect) -> None:
    pusher = Pusher(await connect(receiving))
    await pusher.begin()
    assert await pusher.push(PAYLOAD, subscription_id=1) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert "client_producer_m" not in await shown(receiving)
