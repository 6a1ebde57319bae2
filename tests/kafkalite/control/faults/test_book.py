"""The rule book against a model of its three sentences, on random rules and requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant
from hypothesis.stateful import rule as step

from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.matching import Seen
from kafkalite.control.faults.rule import Rule
from kafkalite.control.problems import Problem
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest

APIS = {"Heartbeat": ApiKey.HEARTBEAT, "EndTxn": ApiKey.END_TXN}


def rule(**fields: Any) -> Rule:
    return msgspec.convert(fields, Rule)


def heartbeat(group: str = "g", client: str = "c") -> Seen:
    return Seen(
        ApiKey.HEARTBEAT,
        4,
        HeartbeatRequest(group_id=group, generation_id=1, member_id="m"),
        client,
    )


def end_txn(transactional_id: str = "t", client: str = "c") -> Seen:
    body = EndTxnRequest(transactional_id=transactional_id)
    return Seen(ApiKey.END_TXN, 5, body, client)


@dataclass
class Model:
    """One rule, counted by hand."""

    api: str | None
    client: str | None
    skip: int
    times: int | None
    every: int
    turns: list[list[str]]
    matched: int = 0
    applied: int = 0

    def see(self, api: str, client: str) -> list[str] | None:
        if self.api not in (None, api) or self.client not in (None, client):
            return None
        self.matched += 1
        after_skip = self.matched - self.skip
        if after_skip <= 0 or (after_skip - 1) % self.every != 0:
            return None
        if self.times is not None and self.applied >= self.times * len(self.turns):
            return None
        self.applied += 1
        return self.turns[(self.applied - 1) % len(self.turns)]


actions = st.sampled_from(["count", "delay", "drop", "silence"])
DO: dict[str, Any] = {
    "count": {"count": True},
    "delay": {"delay": "1ms"},
    "drop": {"drop": "after"},
    "silence": {"silence": "before"},
}
FINAL = {"drop", "silence"}
models = st.builds(
    Model,
    api=st.sampled_from(["Heartbeat", "EndTxn", None]),
    client=st.sampled_from(["a", "b", None]),
    skip=st.integers(0, 3),
    times=st.sampled_from([None, 1, 2, 5]),
    every=st.integers(1, 3),
    turns=st.lists(st.lists(actions, max_size=2), min_size=1, max_size=3).filter(any),
)
requests = st.tuples(st.sampled_from(["Heartbeat", "EndTxn"]), st.sampled_from(["a", "b", "c"]))


def expected(rules: Iterable[Model], api: str, client: str) -> list[str]:
    """The actions by the models, in their order. After a final one no other rule sees it."""
    done: list[str] = []
    for model in rules:
        due = model.see(api, client)
        done += due or []
        if due is not None and FINAL & set(due):
            break
    return done


@given(st.lists(models, max_size=4), st.lists(requests, max_size=40))
def test_counting_is_the_models(rules: list[Model], seen: list[tuple[str, str]]) -> None:
    book = RuleBook(lambda: 0)
    for number, model in enumerate(rules):
        when = {"api": model.api, "client_id": model.client}
        book.add(
            rule(
                id=f"r{number}",
                when={name: value for name, value in when.items() if value is not None},
                skip=model.skip,
                times=model.times,
                every=model.every,
                sequence=[[DO[each] for each in turn] for turn in model.turns],
            )
        )
    for api, client in seen:
        shown = heartbeat(client=client) if api == "Heartbeat" else end_txn(client=client)
        assert [step.action.kind for step in book.steps(shown)] == expected(rules, api, client)
    for state, model in zip(book.states(), rules, strict=True):
        assert (state.matched, state.applied) == (model.matched, model.applied)
        assert len(state.hits) == model.applied


class Changing(RuleBasedStateMachine):
    """Rules come, change and go between requests. The model is a list of models in their order."""

    names = st.sampled_from(["a", "b", "c"])

    def __init__(self) -> None:
        super().__init__()
        self.book = RuleBook(lambda: 0)
        self.models: dict[str, Model] = {}

    def _rule(self, name: str, model: Model) -> Rule:
        when = {"api": model.api, "client_id": model.client}
        return rule(
            id=name,
            when={field: value for field, value in when.items() if value is not None},
            skip=model.skip,
            times=model.times,
            every=model.every,
            sequence=[[DO[each] for each in turn] for turn in model.turns],
        )

    @step(name=names, model=models)
    def add(self, name: str, model: Model) -> None:
        if name in self.models:
            with pytest.raises(Problem, match="already"):
                self.book.add(self._rule(name, model))
        else:
            self.book.add(self._rule(name, model))
            self.models[name] = replace(model)

    @step(name=names, model=models)
    def replace(self, name: str, model: Model) -> None:
        self.book.replace(self._rule(name, model))
        self.models[name] = replace(model)

    @step(name=names)
    def remove(self, name: str) -> None:
        if name in self.models:
            self.book.remove(name)
            del self.models[name]
        else:
            with pytest.raises(Problem, match="no fault"):
                self.book.remove(name)

    @step()
    def clear(self) -> None:
        self.book.clear()
        self.models.clear()

    @step(request=requests)
    def request(self, request: tuple[str, str]) -> None:
        api, client = request
        shown = heartbeat(client=client) if api == "Heartbeat" else end_txn(client=client)
        found = [each.action.kind for each in self.book.steps(shown)]
        assert found == expected(self.models.values(), api, client)

    @invariant()
    def counts_are_the_models(self) -> None:
        assert {state.rule.id: (state.matched, state.applied) for state in self.book.states()} == {
            name: (model.matched, model.applied) for name, model in self.models.items()
        }
        assert [state.rule.id for state in self.book.states()] == list(self.models)
        unfired = {name for name, model in self.models.items() if not model.applied}
        assert len(self.book.unfired()) == len(unfired)


TestChanging = Changing.TestCase
TestChanging.settings = settings(max_examples=25, stateful_step_count=25)


def test_a_rule_is_applied_once_unless_told_otherwise() -> None:
    book = RuleBook(lambda: 0)
    state = book.add(rule(do=[{"drop": "before"}]))
    assert [len(book.steps(heartbeat())) for _ in range(3)] == [1, 0, 0]
    assert (state.matched, state.applied, state.left) == (3, 1, 0)


def test_probability_is_a_matter_of_the_seed() -> None:
    def lucky(seed: int, others: int = 0) -> list[bool]:
        book = RuleBook(lambda: 0, seed)
        for number in range(others):
            book.add(rule(id=f"other-{number}", probability=0.5, times=None, do=[{"count": True}]))
        state = book.add(rule(id="coin", probability=0.5, times=None, do=[{"delay": "1ms"}]))
        applied: list[bool] = []
        for _ in range(200):
            before = state.applied
            book.steps(heartbeat())
            applied.append(state.applied > before)
        return applied

    assert lucky(1) == lucky(1) == lucky(1, others=3)
    assert lucky(1) != lucky(2)
    assert 60 < sum(lucky(1)) < 140


def test_a_rule_ends_with_its_time() -> None:
    now = 0
    book = RuleBook(lambda: now)
    book.add(rule(**{"for": "1s"}, times=None, do=[{"count": True}]))
    assert book.steps(heartbeat())
    now = 1000
    assert not book.steps(heartbeat())


def test_one_rule_after_another() -> None:
    book = RuleBook(lambda: 0)
    book.add(rule(id="second", when={"api": "Heartbeat", "after": "first"}, do=[{"drop": "after"}]))
    book.add(rule(id="first", when={"api": "EndTxn"}, do=[{"count": True}]))
    assert not book.steps(heartbeat())
    book.steps(end_txn())
    assert [step.state.rule.id for step in book.steps(heartbeat())] == ["second"]


def test_a_connection_is_bound_by_the_first_match() -> None:
    book = RuleBook(lambda: 0)
    book.add(rule(when={"connection": "first"}, times=None, do=[{"count": True}]))
    one, other = heartbeat(), heartbeat()
    one.connection, other.connection = "1", "2"
    assert [bool(book.steps(each)) for each in (one, other, one)] == [True, False, True]


def test_what_was_seen_instead_is_told() -> None:
    book = RuleBook(lambda: 0)
    state = book.add(
        rule(
            id="gap",
            when={"api": "EndTxn", "transactional_id": "billing-*"},
            do=[{"drop": "after"}],
        )
    )
    assert book.unfired() == ["fault gap was never applied: no request of its API came"]
    for _ in range(3):
        book.steps(end_txn("orders-1"))
    assert state.why_unfired() == (
        "fault gap was never applied: EndTxn came 3 times, transactional_id was 'orders-1', "
        "not 'billing-*'"
    )
    book.steps(end_txn("billing-7"))
    assert book.unfired() == []
    assert state.hits[0].did == ("drop after",)


def test_an_optional_rule_need_not_fire() -> None:
    book = RuleBook(lambda: 0)
    book.add(rule(optional=True, do=[{"count": True}]))
    assert book.unfired() == []


def test_a_replaced_rule_keeps_its_place() -> None:
    book = RuleBook(lambda: 0)
    book.add(rule(id="a", do=[{"count": True}]))
    book.add(rule(id="b", do=[{"count": True}]))
    book.replace(rule(id="a", do=[{"drop": "before"}]))
    assert [state.rule.id for state in book.states()] == ["a", "b"]
    assert [step.action.kind for step in book.steps(heartbeat())] == ["drop"]
    book.remove("a")
    assert [step.action.kind for step in book.steps(heartbeat())] == ["count"]
    with pytest.raises(Problem, match="no fault 'a'"):
        book.get("a")
    with pytest.raises(Problem, match="already"):
        book.add(rule(id="b", do=[{"count": True}]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs either"),
        ({"when": {"api": "Produz"}, "do": [{"count": True}]}, "no API 'Produz'"),
        ({"when": {"topic": {"re": "("}}, "do": [{"count": True}]}, "topic"),
        ({"when": {"topic": {"like": "x"}}, "do": [{"count": True}]}, "cannot be compared"),
    ],
)
def test_a_rule_that_means_nothing_is_not_put_in(fields: dict[str, Any], message: str) -> None:
    book = RuleBook(lambda: 0)
    with pytest.raises(Problem, match=message):
        book.add(rule(**fields))
    assert len(book) == 0


def test_nothing_is_replaced_when_one_of_them_is_refused() -> None:
    book = RuleBook(lambda: 0)
    book.add(rule(id="a", do=[{"count": True}]))
    with pytest.raises(Problem):
        book.replace_all([rule(id="b", do=[{"count": True}]), rule(id="c")])
    assert [state.rule.id for state in book.states()] == ["a"]
