"""A request that no rule can match passes by: it is made no message, and is counted as missed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.harness.messages import every_version, instances
from kafkalite.apis import Api, apis_of
from kafkalite.control.faults import gate as gates
from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.gate import FaultGate, Fetching
from kafkalite.control.faults.matching import Matcher, Seen
from kafkalite.control.faults.passing import TOPICS, Naming
from kafkalite.control.faults.rule import Action, Rule, When
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.fetch import FetchRequest
from kafkalite.wire.messages.produce import ProduceRequest, TopicProduceData
from kafkalite.wire.rows import rows_of
from kafkalite.wire.schema import Kind, message_of

ORDERS = UUID(int=7)
CONTEXT: Any = SimpleNamespace(
    api_version=13,
    client_id="app",
    software="java/4",
    client_host="127.0.0.1",
    principal="User:app",
    node_id=2,
    listener_name="PLAINTEXT",
    client_address="127.0.0.1:5",
    correlation_id=1,
    fault="",
)
REQUEST = ProduceRequest(
    transactional_id="t-1",
    topic_data=[TopicProduceData(name="payments"), TopicProduceData(topic_id=ORDERS)],
)


def name_of(topic_id: UUID) -> str | None:
    return "orders" if topic_id == ORDERS else None


@pytest.mark.parametrize(
    ("when", "criterion"),
    [
        ({"client_id": "other"}, "client_id"),
        ({"node": 1, "topic": "orders"}, "node"),
        ({"version": {"max": 12}}, "version"),
        ({"principal": "User:other"}, "principal"),
        ({"topic": "audit"}, "topic"),
        ({"topic": ["audit", "a-*"], "partition": 3}, "topic"),
        ({"topic": "payments"}, None),
        ({"topic": "order*"}, None),
        ({"group": "g"}, "group"),
        ({"topic": "payments", "transactional_id": "other"}, "transactional_id"),
        ({"topic": "audit", "transactional_id": "t-*"}, "topic"),
        ({"topic": "audit", "connection": "first"}, "topic"),
        ({"topic": "audit", "connection": "10.*"}, "connection"),
        # Others are left to the whole match, which may find them first.
        ({"topic": "audit", "producer_id": 3}, None),
        ({"partition": 3}, None),
        ({}, None),
    ],
)
def test_it_is_what_the_whole_match_says(when: dict[str, Any], criterion: str | None) -> None:
    matcher = Matcher(msgspec.convert(when, When))
    naming = Naming(ProduceRequest, in_rows=True, topic_name=name_of)
    found = matcher.missed_at_once(CONTEXT, naming, rows_of(REQUEST))
    assert (None if found is None else found.criterion) == criterion
    if found is not None:
        seen = Seen(
            ApiKey.PRODUCE,
            13,
            REQUEST,
            "app",
            principal="User:app",
            node=2,
            connection=CONTEXT.client_address,
            topic_name=name_of,
        )
        assert matcher.match(seen) == found


REQUESTS = [case for case in every_version() if message_of(case[0]).kind is Kind.REQUEST]
KINDS = ("groups", "members", "instances", "transactional_ids", "producers")


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), case=st.sampled_from(REQUESTS), in_rows=st.booleans())
def test_what_is_named_is_what_the_whole_request_names(
    data: st.DataObject, case: tuple[type[Any], int], in_rows: bool
) -> None:
    class_, version = case
    body = data.draw(instances(class_, version))
    context: Any = SimpleNamespace(api_version=version)
    naming = Naming(class_, in_rows=in_rows, topic_name=name_of)
    asked = rows_of(body) if in_rows else body
    seen = Seen(ApiKey(message_of(class_).key), version, body, topic_name=name_of)
    topics = naming.values(TOPICS, context, asked)
    assert topics is not None
    assert list(dict.fromkeys(topics)) == list(dict.fromkeys(name for name, _ in seen.places))
    for kind in KINDS:
        named = naming.values(kind, context, asked)
        assert named is None or set(named) == getattr(seen.names, kind)


def test_only_batches_and_coordinators_keys_are_left_to_the_whole_match() -> None:
    left = {
        (key, kind)
        for key in apis_of(None)
        for kind in KINDS
        if Naming(request_class(key), in_rows=False, topic_name=name_of).values(
            kind,
            cast("Any", SimpleNamespace(api_version=message_of(request_class(key)).max_version)),
            request_class(key)(),
        )
        is None
    }
    assert left == {
        (ApiKey.PRODUCE, "producers"),
        *((ApiKey.FIND_COORDINATOR, kind) for kind in KINDS),
    }


def test_a_fetch_is_about_the_topics_of_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = {(2, 5): [(ORDERS, 0), (ORDERS, 1)], (2, 6): [("payments", 0)]}
    book = RuleBook(lambda: 0)
    state = book.add(Rule(when=When(api="Fetch", topic="payments"), do=(Action(count=True),)))
    gate = gate_of(book, lambda node_id, session_id: sessions[node_id, session_id])
    handle = gate(apis_of(None)[ApiKey.FETCH], lambda services, context, request: "handled")
    with monkeypatch.context() as patched:
        patched.setattr(gates, "message_of_row", never)
        handle(None, CONTEXT, rows_of(FetchRequest(session_id=5, session_epoch=2)))
        handle(None, CONTEXT, rows_of(FetchRequest(session_id=6, session_epoch=0)))
    assert [(name, near.count, [*near.seen]) for name, near in state.near.items()] == [
        ("topic", 2, ["'orders'"])
    ]
    handle(None, CONTEXT, rows_of(FetchRequest(session_id=6, session_epoch=2)))
    assert state.matched == 1


def test_topics_that_are_subscribed_to_are_named() -> None:
    body = ConsumerGroupHeartbeatRequest(subscribed_topic_names=["orders"], topic_partitions=None)
    naming = Naming(ConsumerGroupHeartbeatRequest, in_rows=True, topic_name=name_of)
    context: Any = SimpleNamespace(api_version=1)
    assert naming.values(TOPICS, context, rows_of(body)) == ["orders"]


def never(*_: Any) -> Any:
    raise AssertionError


def gate_of(book: RuleBook, fetching: Fetching = never) -> FaultGate:
    """A gate that is to need nothing but its rules, and what sessions fetch."""
    nothing: Any = None
    return FaultGate(
        book, nothing, topic_name=name_of, topic_id=never, fetching=fetching, begin_verb=never
    )


def test_it_is_not_made_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counted(class_: Any, row: Any) -> Any:
        made.append(row)
        return REQUEST

    monkeypatch.setattr(gates, "message_of_row", counted)
    book = RuleBook(lambda: 0)
    state = book.add(Rule(when=When(api="Produce", topic="audit"), do=(Action(drop="after"),)))
    api: Api = apis_of(None)[ApiKey.PRODUCE]
    handle = gate_of(book)(api, lambda services, context, request: "handled")
    assert handle(None, CONTEXT, rows_of(REQUEST)) == "handled"
    assert (made, state.matched) == ([], 0)
    assert state.why_unfired().endswith("topic was 'payments', 'orders', not 'audit'")
    book.add(Rule(when=When(api="Produce", topic="payments"), do=(Action(count=True),)))
    assert handle(None, CONTEXT, rows_of(REQUEST)) == "handled"
    assert len(made) == 1
