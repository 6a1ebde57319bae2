"""The verbs of one cluster as methods: what they do, and what they raise."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafkalite.client.errors import WaitTimeout
from kafkalite.client.kit import Kit
from kafkalite.client.table import ROWS
from kafkalite.client.values import fields_of
from kafkalite.control.faults.rule import Action, Rule, When
from kafkalite.control.problems import Problem
from kafkalite.faults import count, delay, drop
from kafkalite.testing import broker as test_broker


async def test_records_that_are_too_few_are_told(broker: test_broker) -> None:
    k = broker.asynchronous
    await k.create_topic("t")
    written = await k.produce("t", b"\xff", key="k", count=2)
    assert [each.offset for each in written.places] == [0, 1]
    assert len(await k.records("t")) == len(await k.records("t", 2)) == 2
    with pytest.raises(WaitTimeout, match="t has 2 of 3 records after 50ms"):
        await k.records("t", 3, wait="50ms")


async def test_configs_are_given_as_python_has_them(broker: test_broker) -> None:
    made = await broker.asynchronous.create_topic(
        "t", configs={"retention.ms": 5_000_000, "preallocate": True}
    )
    assert made.configs == {"retention.ms": "5000000", "preallocate": "true"}


@pytest.mark.parametrize("how", ["dict", "path", "text"])
async def test_a_seed_is_a_dict_or_a_file(broker: test_broker, tmp_path: Path, how: str) -> None:
    seed = {
        "topics": [{"name": "t", "partitions": "2"}],
        "groups": [{"id": "g", "offsets": {"t": {"0": 0}}}],
    }
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(seed))
    given: Any = {"dict": seed, "path": path, "text": str(path)}[how]
    made = await broker.asynchronous.seed(given)
    assert (made.topics, made.groups) == (1, 1)
    assert len(broker.topic("t").partitions) == 2
    with pytest.raises(msgspec.ValidationError, match="topic"):
        await broker.asynchronous.seed({"topic": []})


class Recorder:
    """Notes the verbs that a kit asks for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        self.asked.append((verb, cluster, fields))

        class Answer:
            rule = Rule(id=f"made-{len(self.asked)}")

        return Answer()

    def rules(self) -> list[Rule]:
        assert {verb for verb, _, _ in self.asked} == {"faults.add"}
        return [Rule(**fields) for _, _, fields in self.asked]


def test_keywords_that_say_nothing_else_are_criteria() -> None:
    recorder = Recorder()
    fault = Kit(recorder, "mine").fault(
        "Produce",
        topic="orders",
        request={"acks": -1},
        do=[delay("1s"), drop.after],
        skip=1,
        times=None,
        every=2,
        probability=0.5,
        seed=7,
        lasting="5m",
        optional=True,
        id="f",
    )
    assert recorder.rules() == [
        Rule(
            id="f",
            when=When(api="Produce", topic="orders", request={"acks": -1}),
            skip=1,
            times=None,
            every=2,
            probability=0.5,
            seed=7,
            lasting="5m",
            do=(Action(delay="1s"), Action(drop="after")),
            optional=True,
        )
    ]
    assert recorder.asked[0][1] == "mine"
    assert fault.id == "made-1"
    with pytest.raises(msgspec.ValidationError, match="tpic"):
        Kit(recorder).fault("Produce", tpic="orders", do=count)


def test_one_action_needs_no_list_and_a_sequence_has_turns() -> None:
    recorder = Recorder()
    kit = Kit(recorder)
    kit.fault("Fetch", do=count)
    kit.fault("Fetch", sequence=[[count], [drop.before, count]])
    first, second = recorder.rules()
    assert (first.do, first.times) == ((count,), 1)
    assert (second.do, second.sequence) == ((), ((count,), (drop.before, count)))


def test_a_preset_is_put_in_as_rules() -> None:
    recorder = Recorder()
    assert Kit(recorder).preset("lost_ack", topic="orders", times=2).id == "made-1"
    (rule,) = recorder.rules()
    assert (rule.when.topic, rule.times, rule.do) == ("orders", 2, (drop.after,))
    with pytest.raises(Problem, match=r"there is no preset 'none' \(lost_ack, "):
        Kit(recorder).preset("none")
    with pytest.raises(Problem, match="lost_ack has no tpic"):
        Kit(recorder).preset("lost_ack", tpic="orders")


def test_a_method_asks_with_fields_that_its_verb_has() -> None:
    """Every method that takes no more than names, against the table of verbs."""
    recorder = Recorder()
    kit = Kit(recorder)
    for ask in (
        kit.describe,
        kit.topics,
        kit.groups,
        kit.transactions,
        kit.connections,
        kit.snapshots,
        kit.nodes,
        kit.reset,
        kit.restart,
        lambda: kit.snapshot("s"),
        lambda: kit.restore("s"),
        lambda: kit.delete_topic("t"),
        lambda: kit.lose("t", 1, 2),
        lambda: kit.gap("t", 1, 2),
        lambda: kit.topic("t"),
        lambda: kit.move_leader("t", 0, 2),
        lambda: kit.stop_node(2),
        lambda: kit.start_node(2),
        lambda: kit.remove_node(2),
        lambda: kit.close_connection("c"),
    ):
        ask()
    for verb, cluster, fields in recorder.asked:
        assert cluster == "default"
        asked = msgspec.convert(fields, ROWS[verb].request)
        assert {name: getattr(asked, name) for name in fields} == fields
    assert len({verb for verb, _, _ in recorder.asked}) == len(recorder.asked) == 20
    assert fields_of(msgspec.convert(recorder.asked[-1][2], ROWS["connections.close"].request)) == {
        "connection": "c"
    }


async def test_data_is_written_to_a_file(broker: test_broker, tmp_path: Path) -> None:
    archive = await broker.asynchronous.export(tmp_path / "data.tar")
    assert tarfile.is_tarfile(archive)
