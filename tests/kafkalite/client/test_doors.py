"""Three doors lead to each verb: this process, HTTP, and the command line. Answers are the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kafkalite.client.command import main
from kafkalite.client.connecting import Client
from kafkalite.client.table import ROWS
from kafkalite.control.verbs import VERBS
from kafkalite.faults import drop
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced, producer

# The fields of verbs that only look; `seq` is the number of a request.
NAMED: dict[str, Any] = {
    "topic": "orders",
    "partition": 0,
    "offset": 1,
    "group": "billing",
    "transaction": "tx",
    "fault": "lost",
    "seq": 1,
}
# Either a group or a transactional id is asked for; commits are told a second late.
OPTIONAL = {"coordinators.show": {"group": "billing"}, "events": {"kind": "topic.*"}}
LOOKING = [
    name
    for name, verb in VERBS.items()
    if verb.method == "GET" and verb.content_type == "application/json" and name != "traffic"
]


@pytest.fixture(scope="module")
def k() -> Iterator[broker]:
    """A broker that has one of each thing; time stands still in it."""
    with broker({"kafkalite.control.port": 0}, profile="test") as running:
        running.clock.freeze()
        running.create_topic("orders")
        running.ask("spy.set", mode="on")
        assert produced(running, "orders", b"1", b"2", b"3") == [None] * 3
        running.ask("spy.set", mode="off")
        writer = producer(running, **{"transactional.id": "tx"})
        writer.init_transactions(30)
        del writer
        running.group("billing").seek("orders", 1)
        running.fault("EndTxn", id="lost", do=drop.after, optional=True)
        running.snapshot("kept")
        running.wait.connections(at_most=0)
        yield running


def address(k: broker) -> tuple[str, str]:
    assert k._control is not None
    told = k._control.address
    return told["url"], told["token"]


def plain(answer: Any) -> Any:
    """Make JSON of it. The machine's clock goes on, from which the cluster's is away."""
    told = json.loads(msgspec.json.encode(answer))
    if isinstance(told, dict):
        told.pop("ahead_ms", None)
    return told


def asked_with(name: str) -> dict[str, Any]:
    fields = msgspec.structs.fields(ROWS[name].request)
    wanted = {each.name: NAMED[each.name] for each in fields if each.required}
    return wanted | OPTIONAL.get(name, {})


def by_command(k: broker, name: str, fields: dict[str, Any], capsys: Any) -> Any:
    required = {each.name for each in msgspec.structs.fields(ROWS[name].request) if each.required}
    words = [str(value) for field, value in fields.items() if field in required]
    for field, value in fields.items():
        words += [] if field in required else [f"--{field}", value]
    url, token = address(k)
    code = main([*name.split("."), *words, "--url", url, "--token", token, "--json"])
    told = capsys.readouterr()
    assert code == 0, told.err
    return json.loads(told.out)


@pytest.mark.parametrize("name", LOOKING)
def test_a_verb_that_looks_sees_the_same_through_each(k: broker, name: str, capsys: Any) -> None:
    fields = asked_with(name)
    here = plain(k.ask(name, **fields))
    assert plain(Client(*address(k)).ask(name, **fields)) == here
    assert plain(by_command(k, name, fields, capsys)) == here
