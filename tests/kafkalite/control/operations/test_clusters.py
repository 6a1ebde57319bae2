"""Verbs of the process: clusters, snapshots and seeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import kafkalite
from kafkalite.client.async_kit import AsyncKit
from kafkalite.control.problems import Problem
from kafkalite.testing import broker
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.kafkalite.group_requests import find

JOIN = JoinGroupRequest(
    group_id="group",
    session_timeout_ms=10_000,
    rebalance_timeout_ms=10_000,
    member_id="",
    protocol_type="consumer",
    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
)


def test_seeds_are_planted(k: broker) -> None:
    k.seed(
        {
            "topics": [
                {
                    "name": "orders",
                    "partitions": 2,
                    "records": [
                        {"key": "a", "value": "1", "timestamp": "-7d", "count": 3},
                        {"value": "2", "partition": 1},
                    ],
                }
            ],
            "groups": [{"id": "billing", "offsets": {"orders": {"0": 2}}}],
        }
    )
    records = k.records("orders")
    assert [record.value for record in records] == ["1", "1", "1", "2"]
    assert records[3].timestamp - records[0].timestamp == 7 * 86_400_000
    assert k.committed("billing", "orders") == 2
    assert k.group("billing").show().offsets[0].lag == 1


async def test_a_seed_adds_to_what_is_there(broker: broker) -> None:
    k = broker.asynchronous
    broker.create_topic("orders", partitions=2)
    records = [{"value": "v", "partition": 1, "count": 2}]
    told = await k.seed({"topics": [{"name": "orders", "partitions": 9, "records": records}]})
    assert (told.topics, told.records, told.groups) == (1, 2, 0)
    assert len((await k.topic("orders")).partitions) == 2
    with pytest.raises(Problem, match="no topic 'none'"):
        await k.seed({"groups": [{"id": "g", "offsets": {"none": {0: 1}}}]})


def test_a_seed_sets_configs_and_writes_values_in_each_way(k: broker) -> None:
    records = [{"json": {"a": [1, None]}}, {"json": None}, {"base64": "AAH/"}, {"value": "v"}]
    k.seed(
        {
            "configs": {"log.retention.ms": "48"},
            "topics": [{"name": "t", "records": records}],
        }
    )
    found = k.records("t")
    assert [each.value for each in found] == ['{"a":[1,null]}', "null", "AAH/", "v"]
    assert [each.value_encoding for each in found] == ["utf-8", "utf-8", "base64", "utf-8"]
    assert k._default.broker.config.integer("log.retention.ms") == 48
    for wrong, said in (
        ({"configs": {"log.retention.ms": "long"}}, "no config is set: Invalid value long"),
        ({"topics": [{"name": "t", "records": [{"value": "a", "json": 1}]}]}, "has one of"),
        ({"topics": [{"name": "t", "records": [{"base64": "?"}]}]}, "'\\?' is no base64"),
    ):
        with pytest.raises(Problem, match=said):
            k.seed(wrong)


async def test_the_process_answers_for_itself(broker: broker) -> None:
    k = broker.asynchronous
    assert (await k.ask("health")).status == "ok"
    assert (await k.ask("version")).version == kafkalite.__version__


async def test_clusters_are_made_listed_and_deleted(broker: broker) -> None:
    k = broker.asynchronous
    made = await k.ask("clusters.create", name="mine", nodes=2)
    assert [(each.node, each.up) for each in made.nodes] == [(1, True), (2, True)]
    listed = await k.ask("clusters.list")
    assert [(each.name, each.bootstrap) for each in listed] == [
        ("default", broker.bootstrap),
        ("mine", made.bootstrap),
    ]
    k.cluster = "mine"
    await k.ask("clusters.delete")
    assert [each.name for each in await k.ask("clusters.list")] == ["default"]


async def test_snapshots_are_saved_listed_and_deleted(broker: broker) -> None:
    k = broker.asynchronous
    broker.create_topic("t")
    saved = await k.snapshot("one")
    assert await k.snapshots() == [saved]
    broker.delete_topic("t")
    restored = await k.restore("one")
    assert (restored.topics, restored.bootstrap) == (1, broker.bootstrap)
    await k.ask("snapshots.delete", snapshot="one")
    assert await k.snapshots() == []
    with pytest.raises(Problem, match="no snapshot 'one'"):
        await k.ask("snapshots.delete", snapshot="one")


def fetch_of(topic_id: Any) -> FetchRequest:
    topic = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(partition=0)])
    return FetchRequest(session_epoch=0, topics=[topic])


async def test_ids_of_a_seed_come_again(broker: broker, connect: Any) -> None:
    """In another cluster, and after a reset; after a restart there are others."""
    k = broker.asynchronous
    seen: list[tuple[Any, ...]] = []
    for _ in range(2):
        made = await k.ask("clusters.create", seed=7)
        cluster = AsyncKit(broker._async_verb, made.name)
        for _ in range(2):
            topic = await cluster.create_topic("t")
            client = await connect(SimpleNamespace(bootstrap=made.bootstrap))
            await find(client)
            joined = await client.ask(JOIN)
            fetched = await client.ask(fetch_of(topic.topic_id))
            seen.append((made.cluster_id, topic.topic_id, joined.member_id, fetched.session_id))
            await cluster.reset()
        await cluster.create_topic("t")
        await cluster.restart()
        again = await cluster.create_topic("other")
        assert again.topic_id not in {each[1] for each in seen}
    assert len(set(seen)) == 1
    assert seen[0][3] > 0
    other = await k.ask("clusters.create", seed=8)
    assert other.cluster_id != made.cluster_id


async def test_a_cluster_looks_like_a_release(broker: broker) -> None:
    k = broker.asynchronous
    with pytest.raises(Problem, match=r"kafkalite\.as\.version"):
        await k.ask("clusters.create", as_version="1.0")
    await k.ask("clusters.create", as_version="3.9")
