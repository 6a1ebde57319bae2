"""One record, whole and decoded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.control.answers import DecodedView
from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker
from tests.kafkalite.schema_registry import SchemaRegistry, serving


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with serving() as running:
        running.schemas[1] = {"schema": '"string"'}
        yield running


async def test_a_record_is_shown_as_it_is(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t", 2)
    await k.produce("t", "v" * 2000, key=b"\0\0\0\0\1\x02a", partition=1, headers={"h": "x"})
    shown = await k.ask("records.show", topic="t", partition=1, offset=0)
    assert (shown.value, shown.headers, shown.size_bytes) == ("v" * 2000, {"h": "x"}, 2009)
    assert (shown.key_decoded, shown.value_decoded) == (None, None)
    for place in ({"partition": 1, "offset": 1}, {"partition": 0, "offset": 0}):
        with pytest.raises(Problem, match="there is no record"):
            await k.ask("records.show", topic="t", **place)


async def test_an_offset_in_a_gap_has_no_record(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    for value in "abc":
        await k.produce("t", value)
    await k.gap("t", 1, 2)
    with pytest.raises(Problem, match="there is no record 't-0 @ 1'"):
        await k.ask("records.show", topic="t", partition=0, offset=1)
    assert (await k.ask("records.show", topic="t", partition=0, offset=2)).value == "c"


async def test_key_and_value_are_decoded_by_the_registry(registry: SchemaRegistry) -> None:
    async with test_broker(config={"kafkalite.schema.registry.url": registry.url}) as broker:
        k = broker.asynchronous
        await k.create_topic("t")
        await k.produce("t", b"\0\0\0\0\2x", key=b"\0\0\0\0\1\x02a")
        shown = await k.ask("records.show", topic="t", partition=0, offset=0)
    assert shown.key_decoded == DecodedView(1, "AVRO", "", "a")
    assert shown.value_decoded.schema_id == 2
    assert "answers 404" in shown.value_decoded.problem


async def test_a_url_that_is_none_is_told() -> None:
    async with test_broker(config={"kafkalite.schema.registry.url": "registry:8081"}) as broker:
        k = broker.asynchronous
        await k.create_topic("t")
        await k.produce("t", "v")
        with pytest.raises(Problem, match="is no http:// or https:// URL"):
            await k.ask("records.show", topic="t", partition=0, offset=0)
