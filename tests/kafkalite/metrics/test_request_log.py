"""Requests in the log: a line for each while DEBUG is on, and nothing in the way while not."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalite.apis import APIS
from kafkalite.cluster.broker_loggers import request_logger
from kafkalite.metrics.request_log import about_of
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.rows import rows_of
from tests.kafkalite.config_requests import BROKER_LOGGER, DELETE, SET, alter, resource
from tests.kafkalite.data_directories import core

BATCH = memoryview(build_batch([Record(value=b"geheim", key=b"secret")]))


@pytest.fixture(autouse=True)
def level_stays() -> Iterator[None]:
    before = request_logger.level
    yield
    request_logger.setLevel(before)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines so far, without the time that each request took."""
    said = [
        re.sub(r", \d+\.\d ms$", "", each.getMessage())
        for each in caplog.records
        if each.name == "kafka.request.logger"
    ]
    caplog.clear()
    return said


def produce(*places: tuple[str, int], acks: int = -1) -> ProduceRequest:
    topics = [
        TopicProduceData(
            name=name, partition_data=[PartitionProduceData(index=index, records=BATCH)]
        )
        for name, index in places
    ]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


async def turn(client: Any, operation: int, level: str | None) -> None:
    change = ("kafka.request.logger", operation, level)
    assert await alter(client, resource(BROKER_LOGGER, "1", change)) == [(0, None)]


async def test_it_is_turned_on_and_off_while_the_broker_runs(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await client.ask(ApiVersionsRequest(), 0)
    assert lines(caplog) == []
    await turn(client, SET, "DEBUG")
    await client.ask(ApiVersionsRequest(), 0)
    assert lines(caplog) == ["ApiVersions v0 by test at 127.0.0.1: ok"]
    await turn(client, DELETE, None)
    lines(caplog)
    await client.ask(ApiVersionsRequest(), 0)
    assert lines(caplog) == []


async def test_what_a_request_is_about_and_what_came_of_it(
    client: Any, broker: test_broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic("orders", partitions=2)
    await turn(client, SET, "DEBUG")
    lines(caplog)
    await client.ask(produce(("orders", 0), ("orders", 1)), 9)
    await client.ask(produce(("orders", 5), ("no", 0), ("orders", 0)), 9)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    by_id = FetchTopic(topic_id=broker.topic_id("orders"), partitions=[partition])
    await client.ask(FetchRequest(max_wait_ms=100, min_bytes=1, topics=[by_id]), 13)
    await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 4)
    await client.ask(OffsetFetchRequest(group_id="billing"), 2)
    assert lines(caplog) == [
        "Produce v9 by test at 127.0.0.1: orders-0, orders-1: ok",
        "Produce v9 by test at 127.0.0.1: orders-5, no-0, orders-0: UNKNOWN_TOPIC_OR_PARTITION x2",
        "Fetch v13 by test at 127.0.0.1: orders-0: ok",
        "Metadata v4 by test at 127.0.0.1: orders: ok",
        "OffsetFetch v2 by test at 127.0.0.1: group billing: NOT_COORDINATOR",
    ]
    await client.send(produce(("orders", 0), acks=0), 9)
    await client.ask(ApiVersionsRequest(), 0)
    assert lines(caplog)[0] == "Produce v9 by test at 127.0.0.1: orders-0: no answer"


async def test_a_request_that_waits_has_its_line_at_the_end(
    client: Any, broker: test_broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic("orders")
    await turn(client, SET, "DEBUG")
    caplog.clear()
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = FetchTopic(topic="orders", partitions=[partition])
    await client.ask(FetchRequest(max_wait_ms=300, min_bytes=1, topics=[topic]), 12)
    [line] = [each.getMessage() for each in caplog.records if "Fetch" in each.getMessage()]
    took = re.search(r", (\d+\.\d) ms$", line)
    assert took is not None
    assert float(took[1]) >= 300


async def test_a_connection_that_is_closed_for_it(
    client: Any, broker: test_broker, caplog: pytest.LogCaptureFixture
) -> None:
    await turn(client, SET, "DEBUG")
    lines(caplog)
    await client.send(produce(("none", 0), acks=0), 9)
    assert await client.is_closed()
    [line] = lines(caplog)
    assert line.startswith("Produce v9 by test at 127.0.0.1: none-0: connection closed: ")


async def test_a_brokers_log_has_no_more_of_a_message_than_names(
    client: Any, broker: test_broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic("orders")
    await turn(client, SET, "DEBUG")
    await client.ask(produce(("orders", 0)), 9)
    await alter(client, resource(2, "orders", ("retention.ms", SET, "8642")))
    assert "IncrementalAlterConfigs" in caplog.text
    assert not re.search("geheim|secret|8642", caplog.text)


async def test_a_broker_that_starts_with_debug_logs_from_its_first_request(
    connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kafka.request.logger")
    async with test_broker() as broker:
        client = await connect(broker, client_id="")
        await client.ask(ApiVersionsRequest(), 0)
    assert lines(caplog) == ["ApiVersions v0 by - at 127.0.0.1: ok"]


async def test_many_names_are_cut(broker: test_broker) -> None:
    request = produce(*(("orders", index) for index in range(20)))
    topics = core(broker).services.topics
    row = rows_of(request)
    assert at_once(about_of(APIS[ApiKey.PRODUCE], 9, row, topics)).endswith(
        " orders-7, and 12 more:"
    )
    versions = APIS[ApiKey.API_VERSIONS]
    assert at_once(about_of(versions, 0, ApiVersionsRequest(), topics)) == ""


MANY = 3000
NAMES = [f"topic-{number:05}" for number in range(MANY)]
LARGE: list[tuple[Any, int, str]] = [
    (
        FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            topics=[
                FetchTopic(topic=name, partitions=[FetchPartition(partition=0)]) for name in NAMES
            ],
        ),
        12,
        "Fetch v12",
    ),
    (
        ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(
                    name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
                )
                for name in NAMES
            ]
        ),
        7,
        "ListOffsets v7",
    ),
]


@pytest.mark.parametrize(("request_", "version", "name"), LARGE)
async def test_a_large_request_is_looked_at_in_slices(
    client: Any, caplog: pytest.LogCaptureFixture, request_: Any, version: int, name: str
) -> None:
    """Every test sees to it that nothing holds the loop (`loop_is_not_held`)."""
    await turn(client, SET, "DEBUG")
    lines(caplog)
    await client.ask(request_, version)
    [line] = lines(caplog)
    assert line.startswith(f"{name} by test at 127.0.0.1: ")
    assert f"and {MANY - 8} more: " in line
    assert f" x{MANY}" in line
