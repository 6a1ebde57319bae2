"""Quotas that nobody sets every day, asked of both brokers: who is held by them, and for how long.

Clients are ANONYMOUS here, and told apart by client ids that no other test uses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import nan
from typing import Any

import pytest

from conformance.security.pair import SECURITY, Client, Secured, secured_pair
from conformance.security.quotas import Changes, Entity, all_quotas, alter, quotas
from conformance.security.test_throttling import AUTHORIZER, Pair, close_to, produce
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

PRODUCED, FETCHED, MUTATED = "producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate"
USER: Entity = {"user": "ANONYMOUS"}
# So many seconds are remembered.
WINDOWS = 3


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    own = {key: text for key, text in SECURITY.items() if key not in AUTHORIZER}
    own |= {"quota.window.num": str(WINDOWS)}
    with secured_pair(tmp_path_factory.mktemp("odd-quotas"), own) as pair:
        for broker in pair:
            with called(broker, "maker") as client:
                configs = {"retention.ms": "-1", "max.message.bytes": "50000000"}
                for name in ("odd", "read"):
                    created(client, configs, **{name: 1})
        yield pair


def called(broker: Secured, client_id: str) -> Client:
    client = Client(broker.address("PLAINTEXT"))
    client.client_id = client_id
    return client


def created(client: Client, configs: dict[str, str] | None = None, **topics: int) -> Any:
    """The answer to a request for topics with so many partitions."""
    own = [CreatableTopicConfig(name=key, value=text) for key, text in (configs or {}).items()]
    wanted = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=1, configs=own)
        for name, count in topics.items()
    ]
    return client.ask(CreateTopicsRequest(topics=wanted, timeout_ms=5000), 7)


def produced(broker: Secured, client_id: str, *sizes: int) -> list[int]:
    """The times to wait, in milliseconds, each on a connection of its own."""
    waits: list[int] = []
    for size in sizes:
        with called(broker, client_id) as client:
            waits.append(client.ask(produce(size, topic="odd"), 9).throttle_time_ms)
    return waits


def all_close(waits: list[list[int]]) -> bool:
    return all(map(close_to, waits[1], waits[0]))


@pytest.mark.parametrize(
    "limits",
    [
        [({"client-id": None}, 1000.0)],
        [({"user": "ANONYMOUS", "client-id": None}, 1000.0)],
        [({"user": None, "client-id": None}, 1000.0), ({"user": None}, 500.0)],
        [({"user": "ANONYMOUS", "client-id": None}, 1000.0), (USER, 500.0)],
    ],
    ids=["clients", "clients of a user", "default users", "a user"],
)
def test_a_client_without_an_id(brokers: Pair, limits: list[tuple[Entity, float]]) -> None:
    waits: list[list[int]] = []
    for broker in brokers:
        with quotas(broker, PRODUCED, limits):
            waits.append(produced(broker, "", 30_000))
        time.sleep(WINDOWS + 0.5)
    assert all_close(waits), waits


def test_what_was_used_before_a_quota_was_set(brokers: Pair) -> None:
    """It counts where anybody had a quota of the kind, unless it was measured with others."""
    waits: list[list[int]] = []
    for broker in brokers:
        seen: list[int] = []
        with quotas(broker, PRODUCED, [({"client-id": "another"}, 1e9)]):
            seen += produced(broker, "early", 50_000)
            with quotas(broker, PRODUCED, [({"client-id": "early"}, 1000.0)]):
                seen += produced(broker, "early", 10)
            seen += produced(broker, "later", 50_000)
            with quotas(broker, PRODUCED, [({**USER, "client-id": "later"}, 1000.0)]):
                seen += produced(broker, "later", 10)
        waits.append(seen)
    assert all_close(waits), waits
    assert [bool(each) for each in waits[0]] == [False, True, False, False]


@pytest.mark.parametrize(
    ("key", "limit", "sizes"),
    [
        (PRODUCED, 1.0, (3_000_000, 10, 2_200_000)),
        (PRODUCED, 1.0, (2_100_000, 10)),
        (PRODUCED, 1e-7, (10, 10)),
        (PRODUCED, nan, (100_000, 10)),
        (PRODUCED, 2.0**63, (100_000, 10)),
        ("request_percentage", nan, (10, 10)),
        ("request_percentage", 5e-324, (10, 10)),
    ],
)
def test_waits_that_are_extreme(
    brokers: Pair, key: str, limit: float, sizes: tuple[int, ...]
) -> None:
    waits: list[list[int]] = []
    for broker in brokers:
        client_id = f"extreme-{key}-{limit}-{sizes[0]}"
        ops = [OpData(key=key, value=limit)]
        entity = [EntityData(entity_type="client-id", entity_name=client_id)]
        request = AlterClientQuotasRequest(entries=[EntryDataRequest(entity=entity, ops=ops)])
        with called(broker, "maker") as client:
            assert client.ask(request).entries[0].error_code == 0
        time.sleep(0.5)
        waits.append(produced(broker, client_id, *sizes))
        alter(broker, [({"client-id": client_id}, key, None)])
    assert all_close(waits), waits


class Reader:
    """Fetches one partition in a session, each time over another connection."""

    def __init__(self, broker: Secured, client_id: str, limit: float | None = None) -> None:
        self.broker, self.client_id = broker, client_id
        self.session_id = 0

    def fetch(self, epoch: int, offset: int | None = None, max_bytes: int = 10**6) -> Any:
        """The time to wait, and what was told of the session and its partitions."""
        partitions = (
            []
            if offset is None
            else [FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)]
        )
        request = FetchRequest(
            max_wait_ms=0,
            max_bytes=max_bytes,
            session_id=self.session_id,
            session_epoch=epoch,
            topics=[FetchTopic(topic="read", partitions=partitions)] if partitions else [],
        )
        with called(self.broker, self.client_id) as client:
            answer = client.ask(request, 12)
        self.session_id = answer.session_id or self.session_id
        told = [
            (each.partition_index, each.error_code, each.high_watermark, len(each.records or b""))
            for topic in answer.responses
            for each in topic.partitions
        ]
        return answer.throttle_time_ms, (answer.error_code, answer.session_id > 0, told)


def test_sessions_of_who_reads_too_much(brokers: Pair) -> None:
    """A throttled fetch tells nothing, opens no session, and hides what is wrong with one."""
    waits: list[list[int]] = []
    told: list[list[Any]] = []
    for broker in brokers:
        reader, limits = Reader(broker, "reader"), [({"client-id": "reader"}, 10.0)]
        with called(broker, "maker") as client:
            client.ask(produce(3_000, topic="read"), 9)
            begun = client.ask(produce(10, topic="read"), 9)
            end = begun.responses[0].partition_responses[0].base_offset + 1
            heard = [reader.fetch(0, end)]
            client.ask(produce(10, topic="read"), 9)
        with quotas(broker, FETCHED, limits):
            heard += [reader.fetch(epoch) for epoch in (1, 2)]
            heard += [Reader(broker, "reader").fetch(0, 0), reader.fetch(9)]
        heard += [reader.fetch(epoch) for epoch in (3, 4, 9)]
        waits.append([each[0] for each in heard])
        told.append([each[1] for each in heard])
    assert told[0] == told[1]
    assert all(abs(a - b) < 1_000 for a, b in zip(*waits, strict=True)), waits


def test_only_what_can_be_done_is_paid_for(brokers: Pair) -> None:
    """And what cannot says why, though the tokens are spent."""
    told: list[Any] = []
    for broker in brokers:
        with (
            quotas(broker, MUTATED, [({"client-id": "payer"}, 1.0)]),
            called(broker, "payer") as first,
            called(broker, "payer") as second,
            called(broker, "payer") as third,
        ):
            seen = [
                (each.name, each.error_code, each.error_message)
                for each in created(first, odd=5, paid=20, zero=0, late=1).topics
            ]
            doubled = CreatableTopic(name="twice", num_partitions=1, replication_factor=1)
            answer = second.ask(CreateTopicsRequest(topics=[doubled, doubled], timeout_ms=5000), 7)
            seen += [(each.name, each.error_code, each.error_message) for each in answer.topics]
            growing = [CreatePartitionsTopic("odd", 1, None), CreatePartitionsTopic("paid", 30)]
            grown = third.ask(CreatePartitionsRequest(topics=growing, timeout_ms=5000), 3)
            seen += [(each.name, each.error_code, each.error_message) for each in grown.results]
        told.append(sorted(seen, key=str))
    assert told[0] == told[1]


def test_topics_that_asking_creates_cost_tokens(brokers: Pair) -> None:
    """Nobody waits for that, and no error says so: the topics are not there."""
    counts: list[int] = []
    for broker in brokers:
        limits: Changes = [({"client-id": "asker"}, MUTATED, 0.1)]
        with all_quotas(broker, limits), called(broker, "asker") as client:
            names = [f"asked-{number}" for number in range(6)]
            for name in names:
                topics = [MetadataRequestTopic(name=name)]
                assert client.ask(MetadataRequest(topics=topics), 12).throttle_time_ms == 0
                time.sleep(0.2)
        with called(broker, "maker") as client:
            wanted = [MetadataRequestTopic(name=name) for name in names]
            time.sleep(1)
            found = client.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), 12)
            counts.append(sum(each.error_code == 0 for each in found.topics))
    assert counts[0] == counts[1] < 6


def test_quotas_of_hosts(brokers: Pair) -> None:
    """A name is taken, if it has an address."""
    told: list[Any] = []
    for broker in brokers:
        with called(broker, "maker") as client:
            seen: list[Any] = []
            for host in ("localhost", "127.1", "no.such.host.invalid", "127.0.0.1.9"):
                entity = [EntityData(entity_type="ip", entity_name=host)]
                for remove in (False, True):
                    ops = [OpData(key="connection_creation_rate", value=1e6, remove=remove)]
                    entries = [EntryDataRequest(entity=entity, ops=ops)]
                    answer = client.ask(AlterClientQuotasRequest(entries=entries)).entries[0]
                    seen.append((host, answer.error_code, answer.error_message))
        told.append(seen)
    assert told[0] == told[1]
