"""The marker kafkalite_sweep: one test, run at every position, reported as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafkalite.test_pytest_plugin import outcome

TESTS = """
import pytest
from confluent_kafka import Producer
from kafkalite.faults import drop

RUNS = []


@pytest.fixture(scope="module")
def shared():
    RUNS.append("module")
    yield


@pytest.fixture
def topic(kafkalite, shared):
    kafkalite.create_topic("out")
    return "out"


def write(kafkalite, topic, idempotent):
    producer = Producer({"bootstrap.servers": kafkalite.bootstrap,
                         "enable.idempotence": idempotent})
    for value in "ab":
        producer.produce(topic, value)
        producer.flush(30)
    assert [record.value for record in kafkalite.records(topic)] == ["a", "b"]


@pytest.mark.kafkalite_sweep(api=["Produce"], do=[drop.after])
def test_careless(kafkalite, topic):
    write(kafkalite, topic, False)


@pytest.mark.kafkalite_sweep(api=["Produce"], do=[drop.after, drop.before], pairs=True,
                             limit=5)
def test_careful(kafkalite, topic):
    RUNS.append("careful")
    write(kafkalite, topic, True)


@pytest.mark.kafkalite_sweep(api="EndTxn", do=drop.after)
def test_idle(kafkalite):
    pass


@pytest.mark.kafkalite_sweep(api="Produce", do=drop.after)
def test_wrong(kafkalite):
    assert False, "as ever"


@pytest.mark.kafkalite_sweep(api="Produce", do=drop.after)
def test_no_cluster():
    pass


def test_afterwards(kafkalite, topic):
    assert RUNS == ["module"] + ["careful"] * 6
    assert kafkalite.faults.list() == []
"""


@pytest.mark.slow
def test_a_test_is_run_at_every_position(tmp_path: Path) -> None:
    done = outcome(tmp_path, TESTS, "-rP")
    said = done.stdout
    assert "4 failed, 2 passed" in said
    careless = said.partition("2 requests match: 0 passed, 2 failed, 0 not reached")[2]
    assert careless.splitlines()[1].startswith("FAILED with drop after at request 1: ")
    assert '"skip":1' in careless
    assert "2 requests match: 5 passed, 0 failed, 0 not reached, 11 left out by the limit" in said
    assert "no request matches: there is nothing to lose" in said
    assert "as ever" in said
    assert "ask for it" in said


MISTAKES = """
import pytest
from kafkalite.faults import drop


@pytest.mark.kafkalite_sweep(api="Produce")
def test_without_an_action(kafkalite): pass


@pytest.mark.kafkalite_sweep(api="Produce", do=drop)
def test_without_a_moment(kafkalite): pass


@pytest.mark.kafkalite_sweep(topik="t", do=drop.after)
def test_a_criterion_that_is_none(kafkalite): pass


@pytest.mark.kafkalite_sweep(api="Produce", do=drop.after, limit="many")
def test_a_limit_that_is_none(kafkalite): pass


def test_afterwards(kafkalite): pass
"""


def test_a_mistake_in_the_marker_is_one_of_its_test_alone(tmp_path: Path) -> None:
    said = outcome(tmp_path, MISTAKES).stdout
    assert "1 passed, 4 errors" in said
    assert "it needs `do`, and takes names" in said
    assert "do is drop, which is no action" in said
    assert "topik" in said
    assert "limit is 'many', which is no number" in said
