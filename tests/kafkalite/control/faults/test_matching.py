"""A request meets criteria or fails one of them, and only some of its partitions match."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.control.faults.matching import Matched, Matcher, Missed, Seen, api_keys
from kafkalite.control.faults.rule import When
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages import metadata, produce
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.record_batch import Record, build_batch

ORDERS = UUID(int=7)


def matches(seen: Seen, **when: Any) -> Matched | Missed:
    return Matcher(msgspec.convert(when, When)).match(seen)


def produced(*records: Record, topic: str = "orders", index: int = 0) -> Seen:
    partition = produce.PartitionProduceData(index=index, records=build_batch(list(records)))
    body = produce.ProduceRequest(
        acks=-1, topic_data=[produce.TopicProduceData(name=topic, partition_data=[partition])]
    )
    return Seen(ApiKey.PRODUCE, 12, body, client_id="app", node=2)


def committed() -> Seen:
    def topic(name: str, *indexes: int, topic_id: UUID = NO_UUID) -> OffsetCommitRequestTopic:
        return OffsetCommitRequestTopic(
            name=name,
            topic_id=topic_id,
            partitions=[
                OffsetCommitRequestPartition(partition_index=index, committed_offset=index * 10)
                for index in indexes
            ],
        )

    body = OffsetCommitRequest(
        group_id="billing",
        member_id="m-1",
        topics=[topic("payments", 0), topic("", 1, 2, topic_id=ORDERS)],
    )
    return Seen(
        ApiKey.OFFSET_COMMIT,
        10,
        body,
        topic_name=lambda topic_id: "orders" if topic_id == ORDERS else None,
    )


@pytest.mark.parametrize(
    ("when", "places"),
    [
        ({}, set()),
        ({"group": "billing"}, set()),
        ({"topic": "orders"}, {("orders", 1), ("orders", 2)}),
        ({"topic": "*", "partition": 2}, {("orders", 2)}),
        ({"partition": {"max": 1}}, {("payments", 0), ("orders", 1)}),
        ({"topic": ["orders", "x"], "partition": [0, 1]}, {("orders", 1)}),
        ({"request": {"topics.*.partitions.*.committed_offset": {"min": 20}}}, set()),
        ({"version": {"min": 9}}, set()),
        ({"member_id": {"re": r"m-\d"}}, set()),
        ({"client_id": {"not": "app"}}, set()),
    ],
)
def test_a_request_meets_criteria(when: dict[str, Any], places: set[tuple[str, int]]) -> None:
    assert matches(committed(), **when) == Matched(frozenset(places))


@pytest.mark.parametrize(
    ("when", "criterion", "seen"),
    [
        ({"group": "b"}, "group", ("billing",)),
        ({"topic": "invoices"}, "topic", ("payments", "orders")),
        # partition 0 is there, but of another topic
        ({"topic": "orders", "partition": 0}, "partition", (1, 2)),
        ({"version": 9}, "version", (10,)),
        ({"version": True}, "version", (10,)),
        ({"member_id": {"re": r"^\d"}}, "member_id", ("m-1",)),
        ({"request": {"topics.0.name": "orders"}}, "request.topics.0.name", ("payments",)),
        ({"request": {"no.such": 1}}, "request.no.such", ()),
        ({"transactional_id": "*"}, "transactional_id", ()),
        ({"node": 3}, "node", (0,)),
    ],
)
def test_the_criterion_that_fails_is_told(
    when: dict[str, Any], criterion: str, seen: tuple[object, ...]
) -> None:
    assert matches(committed(), **when) == Missed(criterion, seen)


def test_a_topic_id_that_no_topic_has_is_shown_as_it_is() -> None:
    seen = committed()
    seen.topic_name = lambda topic_id: None
    assert matches(seen, topic=str(ORDERS)) == Matched(
        frozenset({(str(ORDERS), 1), (str(ORDERS), 2)})
    )


def test_records_are_looked_into() -> None:
    poison = Record(timestamp=1, key=b"k-1", value=b'{"amount": 5}', headers=[("kind", b"poison")])
    seen = produced(Record(timestamp=1, value=b"fine"), poison)
    assert isinstance(matches(seen, records={"key": "k-*"}), Matched)
    assert isinstance(matches(seen, records={"value_contains": "amount"}), Matched)
    assert isinstance(matches(seen, records={"header": {"kind": "poison"}}), Matched)
    assert isinstance(matches(seen, records={"header": {"kind": "pill"}}), Missed)
    # all of it must hold for one and the same record
    assert isinstance(matches(seen, records={"key": "k-1", "value_contains": "fine"}), Missed)
    broken = produced(poison)
    broken.body.topic_data[0].partition_data[0].records = b"\x00" * 80
    assert isinstance(matches(broken, records={"key": "*"}), Missed)


def test_partitions_of_a_fetch_session_count() -> None:
    seen = Seen(ApiKey.FETCH, 12, metadata.MetadataRequest(topics=[]))
    seen.fetching = lambda: [("orders", 3)]
    assert matches(seen, topic="orders") == Matched(frozenset({("orders", 3)}))


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        (None, None),
        ("EndTxn", {ApiKey.END_TXN}),
        ("END_TXN", {ApiKey.END_TXN}),
        (26, {ApiKey.END_TXN}),
        (["Produce", "Fetch"], {ApiKey.PRODUCE, ApiKey.FETCH}),
        ("*Txn", {ApiKey.END_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.ADD_PARTITIONS_TO_TXN}),
        ({"max": 1}, {ApiKey.PRODUCE, ApiKey.FETCH}),
    ],
)
def test_apis_by_name_number_and_pattern(written: object, keys: set[ApiKey] | None) -> None:
    found = api_keys(written)
    assert found == keys


# Criteria against a model: each comes with the values that it accepts, written by hand.
TOPICS = ("orders", "orders-1", "payments", "o")
NUMBERS = (0, 1, 2, 3)
CLIENTS = ("app-1", "app-2", "other")
OF_TOPICS: list[tuple[Any, set[Any]]] = [
    ("orders", {"orders"}),
    ("orders*", {"orders", "orders-1"}),
    ("?", {"o"}),
    ("[op]*s", {"orders", "payments"}),
    ({"re": "^o"}, {"orders", "orders-1", "o"}),
    ({"re": "ment|1"}, {"orders-1", "payments"}),
    ("nothing", set()),
]
OF_NUMBERS: list[tuple[Any, set[Any]]] = [
    (2, {2}),
    ({"min": 2}, {2, 3}),
    ({"max": 1}, {0, 1}),
    ({"min": 1, "max": 2}, {1, 2}),
    ("2", set()),
]
OF_CLIENTS: list[tuple[Any, set[Any]]] = [("app-*", {"app-1", "app-2"}), ("other", {"other"})]


def criteria(
    known: list[tuple[Any, set[Any]]], all_values: tuple[Any, ...]
) -> st.SearchStrategy[tuple[Any, set[Any]] | None]:
    """A criterion with what it accepts, or none. Lists accept what any member does, "not" the
    rest."""
    one = st.sampled_from(known)
    several = st.lists(one, max_size=3).map(
        lambda each: ([form for form, _ in each], set().union(*(accepted for _, accepted in each)))
    )
    return st.none() | st.recursive(
        one | several,
        lambda inner: inner.map(lambda each: ({"not": each[0]}, set(all_values) - each[1])),
        max_leaves=3,
    )


@given(
    criteria(OF_TOPICS, TOPICS),
    criteria(OF_NUMBERS, NUMBERS),
    criteria(OF_CLIENTS, CLIENTS),
    st.dictionaries(
        st.sampled_from(TOPICS), st.lists(st.sampled_from(NUMBERS), min_size=1, unique=True)
    ),
    st.sampled_from(CLIENTS),
)
def test_matching_is_the_models(
    topic: tuple[Any, set[Any]] | None,
    partition: tuple[Any, set[Any]] | None,
    client: tuple[Any, set[Any]] | None,
    asked: dict[str, list[int]],
    client_id: str,
) -> None:
    given_ = {"topic": topic, "partition": partition, "client_id": client}
    when = {name: each[0] for name, each in given_.items() if each is not None}
    body = OffsetCommitRequest(
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                partitions=[OffsetCommitRequestPartition(partition_index=each) for each in indexes],
            )
            for name, indexes in asked.items()
        ]
    )
    found = matches(Seen(ApiKey.OFFSET_COMMIT, 9, body, client_id), **when)
    places = {(name, index) for name, indexes in asked.items() for index in indexes}
    of_topic = {each for each in places if topic is None or each[0] in topic[1]}
    of_both = {each for each in of_topic if partition is None or each[1] in partition[1]}
    if client is not None and client_id not in client[1]:
        assert found == Missed("client_id", (client_id,))
    elif topic is not None and not of_topic:
        assert isinstance(found, Missed)
        assert (found.criterion, set(found.seen)) == ("topic", {name for name, _ in places})
    elif partition is not None and not of_both:
        assert isinstance(found, Missed)
        assert found.criterion == "partition"
        assert set(found.seen) == {index for _, index in of_topic}
    else:
        narrowed = topic is not None or partition is not None
        assert found == Matched(frozenset(of_both if narrowed else ()))
