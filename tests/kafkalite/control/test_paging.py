"""Pages of lists: every verb that lists gives all of its list, page by page, once."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest

from kafkalite.client.async_kit import AsyncKit
from kafkalite.control.paging import Page, page_by_name, page_in_order
from kafkalite.control.problems import Problem
from kafkalite.control.verbs import VERBS
from kafkalite.testing import broker
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from tests.kafkalite.group_requests import find

NAMES = {
    "clusters.list": attrgetter("name"),
    "snapshots.list": attrgetter("snapshot"),
    "topics.list": attrgetter("name"),
    "groups.list": attrgetter("id"),
    "transactions.list": attrgetter("id"),
    "nodes.list": lambda each: str(each.node),
    "connections.list": attrgetter("connection"),
    "faults.list": attrgetter("rule.id"),
    "faults.presets": attrgetter("name"),
    "doctor": lambda each: f"{each.where}/{each.name}",
}


def test_each_list_of_views_has_pages() -> None:
    paged = {name for name, verb in VERBS.items() if verb.request is Page}
    assert paged == NAMES.keys()
    lists = {name for name in VERBS if name.endswith(".list")} - {"requests.list"}
    assert lists <= paged


def test_a_page_by_name_goes_on_where_its_last_one_is_gone() -> None:
    items = ["c", "a", "d", "b"]
    assert page_by_name(items, Page(limit=2), str) == ["a", "b"]
    assert page_by_name(items, Page(limit=2, after="b"), str) == ["c", "d"]
    assert page_by_name(["c", "a", "d"], Page(after="b"), str) == ["c", "d"]
    assert page_by_name(items, Page(after="d"), str) == []


def test_a_page_in_order_needs_its_last_one() -> None:
    items = ["c", "a", "d", "b"]
    assert page_in_order(items, Page(), str) == items
    assert page_in_order(items, Page(limit=1), str) == ["c"]
    assert page_in_order(items, Page(limit=2, after="c"), str) == ["a", "d"]
    assert page_in_order(items, Page(after="b"), str) == []
    with pytest.raises(Problem, match="nothing in the list is 'e'") as caught:
        page_in_order(items, Page(after="e"), str)
    assert (caught.value.code, caught.value.value) == ("not_found", "e")


async def _filled(k: AsyncKit, connect: Any, broker: broker) -> None:
    for number in (2, 0, 1):
        await k.create_topic(f"t{number}", configs={"preallocate": "true"})
        await k.snapshot(f"s{number}")
        await k.ask("groups.seek", group=f"g{number}", topic=f"t{number}", to="earliest")
        await k.fault("Produce", id=f"f{number}", do=(), sequence=[[]], optional=True)
        await k.ask("clusters.create", name=f"c{number}")
        client = await connect(broker)
        await find(client, f"x{number}", key_type=1)
        await client.ask(
            InitProducerIdRequest(transactional_id=f"x{number}", transaction_timeout_ms=1000)
        )


async def test_the_pages_of_a_verb_are_the_list(broker: broker, connect: Any) -> None:
    k = broker.asynchronous
    await _filled(k, connect, broker)
    for verb in NAMES.keys() - {"nodes.list"}:
        name, told = NAMES[verb], list[Any]()
        whole = await k.ask(verb)
        assert len(whole) >= 3, verb
        while page := await k.ask(verb, limit=2, after=name(told[-1]) if told else None):
            assert len(page) <= 2
            told += page
        assert list(map(name, told)) == list(map(name, whole))


async def test_nodes_have_pages(broker: broker) -> None:
    made = await broker.asynchronous.ask("clusters.create", nodes=3)
    k = AsyncKit(broker._async_verb, made.name)
    assert [each.node for each in await k.nodes(limit=2)] == [1, 2]
    assert [each.node for each in await k.nodes(after="2")] == [3]
