"""Verbs of the process: clusters, snapshots and seeds."""

from __future__ import annotations

import pytest

import kafkalite
from kafkalite.control.problems import Problem
from kafkalite.testing import broker


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
