"""Quotas that throttle, asked of both brokers: whom, for how long, and what waits meanwhile.

Each test has users, client ids or addresses of its own: a measurement lasts for eleven seconds.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from conformance.security.conversations import CLAIMS, bearer, unsecured
from conformance.security.pair import SECURITY, Client, Secured, secured_pair
from conformance.security.quotas import Changes, Entity, all_quotas, alter, quotas
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafkalite.wire.record_batch import Record, build_batch

Pair = tuple[Secured, Secured]
# The measured rate depends on the moment within the window.
TOLERANCE_MS = 1_500
AUTHORIZER = ("authorizer.class.name", "super.users")
# More than a bucket of the highest rate of mutations has.
PARTITIONS = 80
LEVELS = (
    ("user", "client"),
    ("user", None),
    ("user",),
    (None, "client"),
    (None, None),
    (None,),
    ("", "client"),
    ("", None),
)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Brokers of this module's own: quotas by default are everybody's."""
    own = {key: text for key, text in SECURITY.items() if key not in AUTHORIZER}
    with secured_pair(tmp_path_factory.mktemp("throttling"), own) as pair:
        for broker in pair:
            with Client(broker.address("PLAINTEXT")) as client:
                for topic in ("throttled", "levels"):
                    _created(client, topic, 1)
        yield pair


def _created(client: Client, name: str, partitions: int, version: int = 7) -> Any:
    # The records are old ones.
    forever = CreatableTopicConfig(name="retention.ms", value="-1")
    topic = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, configs=[forever]
    )
    return client.ask(CreateTopicsRequest(topics=[topic]), version)


def as_user(broker: Secured, user: str, client_id: str = "throttling") -> Client:
    """A client that has logged in as anybody, by a token that nobody signed."""
    client = Client(broker.address())
    client.client_id = client_id
    client.ask(SaslHandshakeRequest("OAUTHBEARER"), 1)
    token = bearer(unsecured({**CLAIMS, "sub": user}))
    assert client.ask(SaslAuthenticateRequest(token), 2).error_code == ErrorCode.NONE
    return client


def produce(size: int, acks: int = 1, topic: str = "throttled") -> ProduceRequest:
    records = build_batch([Record(0, 1_700_000_000_000, None, b"x" * size, [])])
    data = [PartitionProduceData(index=0, records=records)]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topics)


def produced(client: Client, size: int, topic: str = "throttled") -> int:
    """The time to wait, in milliseconds."""
    wait_ms: int = client.ask(produce(size, topic=topic), 9).throttle_time_ms
    return wait_ms


def fetched(client: Client, max_bytes: int, topic: str = "read") -> tuple[int, int]:
    """The time to wait, and the bytes of records."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)
    answer = client.ask(
        FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=max_bytes,
            topics=[FetchTopic(topic=topic, partitions=[partition])],
        ),
        12,
    )
    read = sum(len(each.records or b"") for one in answer.responses for each in one.partitions)
    return answer.throttle_time_ms, read


def close_to(ours: int, theirs: int) -> bool:
    return (ours > 0) == (theirs > 0) and abs(ours - theirs) <= TOLERANCE_MS


def entity_of(level: tuple[str | None, ...], user: str, client_id: str) -> Entity:
    """A level's entity: None is the default one, "" is none."""
    names = dict(zip(("user", "client-id"), level, strict=False))
    filled = {"user": user, "client": client_id}
    return {
        kind: None if name is None else filled[name] for kind, name in names.items() if name != ""
    }


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_the_most_specific_quota_counts(brokers: Pair, level: int) -> None:
    """All quotas from this level on are set, each with a limit of its own for each key.

    Of requests only the most specific one lets somebody wait.
    """
    user, client_id = f"user-{level}", f"client-{level}"
    limits: Changes = []
    for number in range(level, len(LEVELS)):
        entity = entity_of(LEVELS[number], user, client_id)
        limits += (
            (entity, "producer_byte_rate", 100.0 * (number + 1)),
            (entity, "consumer_byte_rate", 150.0 * (number + 1)),
            (entity, "request_percentage", 0.000_001 if number == level else 1_000_000.0),
            (entity, "controller_mutation_rate", 0.5 * (number + 1)),
        )
    name = f"levels-{uuid.uuid4().hex[:8]}"
    waits: list[tuple[int, int, int, int]] = []
    for broker in brokers:
        with (
            all_quotas(broker, limits),
            as_user(broker, user, client_id) as producer,
            as_user(broker, user, client_id) as consumer,
            as_user(broker, user, client_id) as other,
            as_user(broker, user, client_id) as maker,
        ):
            waits.append(
                (
                    produced(producer, 40_000, "levels"),
                    fetched(consumer, 10**6, "levels")[0],
                    other.ask(MetadataRequest(topics=None), 12).throttle_time_ms,
                    # An old version is not refused, and waits.
                    _created(maker, name, PARTITIONS, 5).throttle_time_ms,
                )
            )
    theirs, ours = waits
    assert all(map(close_to, ours, theirs)), waits
    for wait, quota in zip(theirs, (100.0 * (level + 1), 150.0 * (level + 1)), strict=False):
        assert wait == pytest.approx((40_100 / quota - 10) * 1000, rel=0.02, abs=TOLERANCE_MS)
    assert (theirs[2], ours[2]) == (1000, 1000)
    rate = 0.5 * (level + 1)
    assert theirs[3] == pytest.approx((PARTITIONS / rate - 11) * 1000, abs=TOLERANCE_MS), waits


def test_clients_share_a_quota_or_have_their_own(brokers: Pair) -> None:
    """One of a user is its clients' together, one of the default client id is each client's."""
    waits: list[list[int]] = []
    for broker in brokers:
        seen: list[int] = []
        for user, entity in (
            ("shared", {"user": "shared"}),
            ("each", {"user": "each", "client-id": None}),
        ):
            with quotas(broker, "producer_byte_rate", [(entity, 1000.0)]):
                for client_id in ("one", "other"):
                    with as_user(broker, user, client_id) as client:
                        seen.append(produced(client, 15_000))
        waits.append(seen)
    theirs, ours = waits
    assert all(map(close_to, ours, theirs)), waits
    assert theirs[1] > theirs[0] + 10_000
    assert theirs[3] == pytest.approx(theirs[2], abs=TOLERANCE_MS)


@pytest.mark.parametrize("acks", [1, 0])
def test_the_answer_comes_at_once_and_the_next_request_waits(brokers: Pair, acks: int) -> None:
    """KIP-219. Other connections of the same user are read until they too have used too much."""
    seen: list[tuple[bool, bool, bool]] = []
    for broker in brokers:
        user = f"muted-{acks}"
        with (
            quotas(broker, "producer_byte_rate", [({"user": user}, 1000.0)]),
            as_user(broker, user) as client,
            as_user(broker, user) as other,
            as_user(broker, user) as third,
        ):
            began = time.monotonic()
            if acks:
                wait = produced(client, 11_500) / 1000
                assert 1 < wait < 3, wait
            else:
                client.send(produce(11_500, acks=0), 9)
                wait = 1.2
            answered = time.monotonic() - began
            assert other.ask(MetadataRequest(topics=[]), 12) is not None
            others = time.monotonic() - began
            assert client.ask(MetadataRequest(topics=[]), 12) is not None
            waited = time.monotonic() - began
            assert third.ask(MetadataRequest(topics=[]), 12) is not None
            seen.append((answered < 0.7, others < 0.9, wait - 0.2 < waited < wait + 2))
    assert seen == [(True, True, True)] * 2


def test_a_throttled_fetch_is_empty(brokers: Pair) -> None:
    """No fetch gets more than the quota's window has; one too many gets nothing and waits."""
    waits: list[list[int]] = []
    read: list[list[int]] = []
    for broker in brokers:
        with Client(broker.address("PLAINTEXT")) as client:
            _created(client, "read", 1)
            for _ in range(20):
                client.ask(produce(3_900, topic="read"), 9)
        with (
            quotas(broker, "consumer_byte_rate", [({"user": "reader"}, 1000.0)]),
            as_user(broker, "reader") as first,
            as_user(broker, "reader") as second,
            as_user(broker, "reader") as third,
        ):
            answers = [
                fetched(*each)
                for each in zip((first, second, third), (6_000, 10**6, 10**6), strict=True)
            ]
        waits.append([each[0] for each in answers])
        read.append([each[1] for each in answers])
    assert all(map(close_to, waits[1], waits[0])), waits
    assert [bool(each) for each in waits[0]] == [False, True, True]
    assert read[0] == read[1]
    assert read[0][1:] == [0, 0]


def test_requests_wait_for_a_sample_at_most(brokers: Pair) -> None:
    """The time that requests take is no client's to foresee."""
    waits: list[int] = []
    for broker in brokers:
        with (
            quotas(broker, "request_percentage", [({"user": "busy"}, 0.000_001)]),
            as_user(broker, "busy") as client,
            as_user(broker, "idle") as other,
        ):
            waits.append(client.ask(MetadataRequest(topics=None), 12).throttle_time_ms)
            assert other.ask(MetadataRequest(topics=None), 12).throttle_time_ms == 0
    assert waits == [1000, 1000]


def test_a_quota_that_is_gone_holds_nobody(brokers: Pair) -> None:
    waits: list[list[int]] = []
    for broker in brokers:
        seen: list[int] = []
        entity: Entity = {"client-id": "going"}
        for limit in (1000.0, 5000.0, None):
            alter(broker, [(entity, "producer_byte_rate", limit)])
            with as_user(broker, "going", "going") as client:
                seen.append(produced(client, 30_000))
        waits.append(seen)
    theirs, ours = waits
    assert all(map(close_to, ours, theirs)), waits
    assert theirs[0] > theirs[1] > theirs[2] == 0


class Mutations:
    """Requests that create or delete partitions, in an old version and in a new one."""

    def __init__(self, client: Client, name: str, *, is_new: bool) -> None:
        self.client, self.name, self.is_new = client, name, is_new

    def create(self, suffix: str, partitions: int) -> tuple[int, str | None, int]:
        answer = _created(self.client, self.name + suffix, partitions, 6 if self.is_new else 5)
        one = answer.topics[0]
        return one.error_code, one.error_message, answer.throttle_time_ms

    def grow(self, suffix: str, partitions: int) -> tuple[int, str | None, int]:
        topic = CreatePartitionsTopic(self.name + suffix, partitions, None)
        wanted = CreatePartitionsRequest(topics=[topic], timeout_ms=5000)
        answer = self.client.ask(wanted, 3 if self.is_new else 2)
        one = answer.results[0]
        return one.error_code, one.error_message, answer.throttle_time_ms

    def delete(self, suffix: str) -> tuple[int, str | None, int]:
        name = self.name + suffix
        wanted = DeleteTopicsRequest(topic_names=[name], timeout_ms=5000)
        answer = self.client.ask(wanted, 5 if self.is_new else 4)
        one = answer.responses[0]
        return one.error_code, one.error_message, answer.throttle_time_ms


@pytest.mark.parametrize("kind", ["create", "grow", "delete"])
@pytest.mark.parametrize("is_new", [False, True], ids=["old", "new"])
def test_changes_of_topics_cost_tokens(brokers: Pair, kind: str, is_new: bool) -> None:
    """KIP-599: a bucket of eleven tokens is overdrawn. New versions hear so, old ones wait."""
    user, name = f"maker-{kind}-{is_new}", f"made-{uuid.uuid4().hex[:8]}"
    heard: list[list[tuple[int, str | None, int]]] = []
    for broker in brokers:
        with Client(broker.address("PLAINTEXT")) as client:
            for suffix in "abc":
                assert _created(client, f"{name}{suffix}", 15).topics[0].error_code == 0
        with quotas(broker, "controller_mutation_rate", [({"user": user}, 1.0)]):
            seen: list[tuple[int, str | None, int]] = []
            for suffix in "abc":
                # A throttled connection is not read: each change has one of its own.
                with as_user(broker, user) as client:
                    made = Mutations(client, name, is_new=is_new)
                    if kind == "create":
                        seen.append(made.create(f"new-{suffix}", 15))
                    elif kind == "grow":
                        seen.append(made.grow(suffix, 30))
                    else:
                        seen.append(made.delete(suffix))
        heard.append(seen)
    theirs, ours = heard
    assert [each[:2] for each in ours] == [each[:2] for each in theirs]
    assert all(close_to(a[2], b[2]) for a, b in zip(ours, theirs, strict=True)), heard
    refused = ErrorCode.THROTTLING_QUOTA_EXCEEDED if is_new else ErrorCode.NONE
    assert [each[0] for each in theirs] == [0, refused, refused]
    assert theirs[1][2] > 0


@pytest.mark.parametrize(
    ("limits", "source"),
    [
        ([("127.0.0.21", 1.0), (None, 2.0)], "127.0.0.21"),
        ([("127.0.0.21", 1.0), (None, 2.0)], "127.0.0.22"),
        ([("127.0.0.23", 1.0)], "127.0.0.24"),
        ([(None, 1.0)], "127.0.0.25"),
    ],
    ids=["own", "default beside another's", "another's", "default"],
)
def test_connections_of_an_address(
    brokers: Pair, limits: list[tuple[str | None, float]], source: str
) -> None:
    """KIP-612: one connection too many is held, answers nothing, and is closed."""
    counts: list[int] = []
    for broker in brokers:
        entities: list[tuple[Entity, float]] = [({"ip": each}, rate) for each, rate in limits]
        with quotas(broker, "connection_creation_rate", entities):
            counts.append(_answered(broker, source))
    rates = dict(limits)
    rate = rates.get(source, rates.get(None))
    assert abs(counts[0] - counts[1]) <= 1, counts
    assert counts[0] == (MOST_CONNECTIONS if rate is None else pytest.approx(10 * rate, abs=2))


MOST_CONNECTIONS = 26


def _answered(broker: Secured, source: str) -> int:
    """The connections that were served before one was not, but closed after a while."""
    for count in range(MOST_CONNECTIONS):
        with Client(broker.address("PLAINTEXT"), source) as client:
            client.socket.settimeout(10)
            with suppress(ConnectionError):
                if client.ask(ApiVersionsRequest(), 0) is not None:
                    continue
            return count
    return MOST_CONNECTIONS
