"""Fetch, with and without sessions."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_produce import batch, producing
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)

VERSIONS = range(4, 19)
LAST = 18
FULL, FINAL = 0, -1


def fill(
    pair: Pair, topic: str, *counts: int, partition: int = 0, connection: str = "main"
) -> None:
    """One batch of so many records each."""
    for count in counts:
        request = producing(topic, 12, batch(count), partition=partition)
        pair.ask(ApiKey.PRODUCE, 12, request, connection=connection)


def fetching(
    version: int,
    topics: dict[str, list[FetchPartition]],
    *,
    forget: dict[str, list[int]] | None = None,
    session: tuple[str, int] | None = None,
    **options: Any,
) -> Callable[[Side], FetchRequest]:
    """`session` is the name under which its id was kept, and the epoch."""

    def make(side: Side) -> FetchRequest:
        def named(name: str) -> dict[str, Any]:
            return {"topic_id": side.topic_id(name)} if version >= 13 else {"topic": name}

        request = FetchRequest(
            **{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 10_000_000, **options},
            topics=[FetchTopic(partitions=p, **named(name)) for name, p in topics.items()],
            forgotten_topics_data=[
                ForgottenTopic(partitions=p, **named(name)) for name, p in (forget or {}).items()
            ],
        )
        if session:
            request.session_id = side.session_ids.get(session[0], 0)
            request.session_epoch = session[1]
        return request

    return make


def at(offset: int, partition: int = 0, **options: Any) -> FetchPartition:
    values = {"partition_max_bytes": 1_000_000, **options}
    return FetchPartition(partition=partition, fetch_offset=offset, **values)


@pytest.mark.parametrize("version", VERSIONS)
def test_offsets(pair: Pair, topic: str, version: int) -> None:
    """The first, one inside a batch, the end, and those that are not there."""
    pair.create_topic(topic)
    fill(pair, topic, 3, 1, 5)
    for offset in (0, 1, 3, 4, 8, 9, 10, 1000, -1, -5):
        pair.ask(ApiKey.FETCH, version, fetching(version, {topic: [at(offset)]}))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_partition(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    for offset in (0, 1):
        pair.ask(ApiKey.FETCH, version, fetching(version, {topic: [at(offset)]}))


@pytest.mark.parametrize("version", VERSIONS)
def test_where_there_is_nothing(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    pair.ask(ApiKey.FETCH, version, fetching(version, {topic: [at(0, 1), at(0, -1)]}))
    if version < 13:
        pair.ask(ApiKey.FETCH, version, fetching(version, {f"{topic}-unknown": [at(0)]}))
    else:
        unknown = FetchTopic(topic_id=UUID(int=99), partitions=[at(0)])
        pair.ask(ApiKey.FETCH, version, FetchRequest(max_wait_ms=0, topics=[unknown]))
    pair.ask(ApiKey.FETCH, version, fetching(version, {}))


@pytest.mark.parametrize("version", [4, 11, LAST])
@pytest.mark.parametrize("max_bytes", [0, 1, 100, 150, 10_000])
def test_limits(pair: Pair, topic: str, version: int, max_bytes: int) -> None:
    """A first batch comes whole; what is behind may be cut anywhere, so only batches count."""
    pair.create_topic(topic, 2)
    for partition in (0, 1):
        fill(pair, topic, 3, 3, partition=partition)
    both = {topic: [at(0, 0), at(0, 1)]}
    pair.ask(ApiKey.FETCH, version, fetching(version, both, max_bytes=max_bytes))
    small = {topic: [at(i, i, partition_max_bytes=max_bytes) for i in (0, 1)]}
    pair.ask(ApiKey.FETCH, version, fetching(version, small))


@pytest.mark.parametrize("version", range(9, 19))
def test_leader_epochs(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    fill(pair, topic, 3)
    for epoch in (0, 1, 7, -1, -2):
        asked = {topic: [at(0, current_leader_epoch=epoch)]}
        pair.ask(ApiKey.FETCH, version, fetching(version, asked))


@pytest.mark.parametrize("version", range(12, 19))
def test_diverging_epochs(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    fill(pair, topic, 3)
    for offset, epoch in ((3, 0), (0, 0), (4, 0), (3, 1), (3, 5), (0, -1)):
        asked = {topic: [at(offset, last_fetched_epoch=epoch)]}
        pair.ask(ApiKey.FETCH, version, fetching(version, asked))


@pytest.mark.parametrize("version", range(7, 12))
def test_a_session_that_cannot_be_told_of_a_divergence(
    pair: Pair, topic: str, version: int
) -> None:
    """Begun in a version that knows epochs, and continued in one that does not."""
    pair.create_topic(topic, 2)
    fill(pair, topic, 3)
    beyond = {topic: [at(4, last_fetched_epoch=0)]}
    for epoch, asked_in, topics in (
        (FULL, 12, {topic: [at(0), at(0, 1)]}),
        (1, 12, beyond),
        (2, version, {}),
        (3, version, {topic: [at(0, 1)]}),
        (4, version, {topic: [at(3)]}),
        (5, version, {}),
    ):
        request = fetching(asked_in, topics, session=("s", epoch))
        for side, answer in zip(pair.sides, pair.ask(ApiKey.FETCH, asked_in, request), strict=True):
            side.session_ids["s"] = answer.session_id


@pytest.mark.parametrize("version", [4, 11, LAST])
def test_only_what_is_committed(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    fill(pair, topic, 3)
    pair.ask(ApiKey.FETCH, version, fetching(version, {topic: [at(0)]}, isolation_level=1))


@pytest.mark.parametrize("version", [4, LAST])
def test_waiting_in_vain(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    fill(pair, topic, 1)
    for offset, min_bytes in ((1, 1), (0, 10_000), (0, 0)):
        asked = fetching(version, {topic: [at(offset)]}, max_wait_ms=200, min_bytes=min_bytes)
        pair.ask(ApiKey.FETCH, version, asked)


@pytest.mark.parametrize("version", [4, 12, LAST])
@pytest.mark.parametrize("index", [7, -1])
def test_what_is_not_there_is_told_after_the_wait(
    pair: Pair, topic: str, version: int, index: int
) -> None:
    """The others are waited for. If there are none, it is told at once."""
    pair.create_topic(topic, 2)
    alone = fetching(version, {topic: [at(0, index)]}, max_wait_ms=60_000)
    pair.ask(ApiKey.FETCH, version, alone)
    with_others = {topic: [at(0, index), at(0, 0), at(0, 1)]}
    request = fetching(version, with_others, max_wait_ms=60_000)
    for side in pair.sides:
        side.send(ApiKey.FETCH, version, request)
        assert not side.has_answer("main", 0.3)
    fill(pair, topic, 1, partition=1, connection="own")
    answers = [side.receive(ApiKey.FETCH, version) for side in pair.sides]
    pair.compare(f"FETCH v{version}", *answers, api=ApiKey.FETCH, version=version)


@pytest.mark.parametrize("version", [7, LAST])
def test_a_session_that_goes_on_meanwhile(pair: Pair, topic: str, version: int) -> None:
    """The answer to the one that waited names the session, which has another epoch."""
    pair.create_topic(topic)
    everything = {topic: [at(0)]}
    opened = fetching(version, everything, session=("s", FULL))
    for side, answer in zip(pair.sides, pair.ask(ApiKey.FETCH, version, opened), strict=True):
        side.session_ids["s"] = answer.session_id
    waiting = fetching(version, {}, session=("s", 1), max_wait_ms=60_000)
    for side in pair.sides:
        side.send(ApiKey.FETCH, version, waiting)
        assert not side.has_answer("main", 0.3)
    pair.ask(ApiKey.FETCH, version, fetching(version, {}, session=("s", 2)), connection="own")
    fill(pair, topic, 1, connection="own")
    answers = [side.receive(ApiKey.FETCH, version) for side in pair.sides]
    pair.compare(f"FETCH v{version}", *answers, api=ApiKey.FETCH, version=version)


@pytest.mark.parametrize("version", [4, LAST])
def test_nobody_waits_behind_what_is_committed(pair: Pair, topic: str, version: int) -> None:
    """Apache Kafka takes its log for one that was truncated: the answer is empty, and comes."""
    pair.create_topic(topic)
    producer = Transactions(pair, topic)
    producer.init()
    for sequence in range(2):
        producer.produce(12, sequence=sequence)
    behind = {topic: [at(1)]}
    request = fetching(version, behind, max_wait_ms=60_000, isolation_level=1)
    pair.ask(ApiKey.FETCH, version, request)


@pytest.mark.parametrize("version", range(7, 19))
def test_a_session(pair: Pair, topic: str, version: int) -> None:
    """Opened in full, then only what is new. Partitions join and leave, and it is closed."""
    other = f"{topic}-other"
    pair.create_topic(topic, 2)
    pair.create_topic(other)
    everything = {topic: [at(0, 0), at(0, 1)], other: [at(0)]}

    def step(epoch: int, topics: Any, **options: Any) -> None:
        request = fetching(version, topics, session=("s", epoch), **options)
        for side, answer in zip(
            (pair.reference, pair.tested), pair.ask(ApiKey.FETCH, version, request), strict=True
        ):
            if answer is not None and answer.session_id:
                side.session_ids["s"] = answer.session_id

    step(FULL, everything)
    step(1, {})
    fill(pair, topic, 2, partition=1)
    step(2, {})
    step(3, {})
    step(4, {topic: [at(2, 1)]})
    step(5, {}, forget={topic: [0]})
    fill(pair, topic, 1, partition=0)
    step(6, {})
    step(7, {topic: [at(99, 1)]})
    step(8, {})
    step(5, {})
    step(8, {}, forget={topic: [1], other: [0]})
    step(9, {})
    step(FINAL, {other: [at(0)]})
    step(10, {})
    step(FULL, {topic: [at(0)]})
    step(1, {topic: [at(0)]}, forget={topic: [0]})
    step(2, {})


@pytest.mark.parametrize("versions", [(12, 13), (13, 12), (LAST, 7)])
def test_a_session_knows_topics_by_name_or_by_id(
    pair: Pair, topic: str, versions: tuple[int, int]
) -> None:
    pair.create_topic(topic)
    for epoch, version in enumerate((*versions, versions[0])):
        request = fetching(version, {topic: [at(0)]}, session=("s", epoch))
        answers = pair.ask(ApiKey.FETCH, version, request)
        for side, answer in zip(pair.sides, answers, strict=True):
            side.session_ids.setdefault("s", answer.session_id)


@pytest.mark.parametrize("version", [12, 13, LAST])
def test_a_topic_that_goes_while_it_is_in_a_session(pair: Pair, topic: str, version: int) -> None:
    """And that is then made anew."""
    pair.create_topic(topic, 2)
    ids = {side: side.topic_id(topic) for side in pair.sides}

    def step(epoch: int, *partitions: int) -> None:
        def make(side: Side) -> FetchRequest:
            request = fetching(version, {}, session=("s", epoch))(side)
            name = {"topic_id": ids[side]} if version >= 13 else {"topic": topic}
            request.topics = [FetchTopic(partitions=[at(0, i) for i in partitions], **name)]
            return request

        for side, answer in zip(pair.sides, pair.ask(ApiKey.FETCH, version, make), strict=True):
            side.session_ids["s"] = answer.session_id

    step(FULL, 0)
    pair.ask(ApiKey.DELETE_TOPICS, 5, DeleteTopicsRequest(topic_names=[topic], timeout_ms=5000))
    pair.settle()
    step(1)
    step(2, 1)
    pair.create_topic(topic, 2)
    step(3)
    step(4, 0)


@pytest.mark.parametrize("version", range(7, 19))
def test_a_session_that_is_not_there(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    for session_id, epoch in ((12345, 1), (12345, FULL), (12345, FINAL), (0, 1), (0, 5)):

        def make(side: Side, session_id: int = session_id, epoch: int = epoch) -> FetchRequest:
            request = fetching(version, {topic: [at(0)]})(side)
            request.session_id, request.session_epoch = session_id, epoch
            return request

        for side, answer in zip(
            (pair.reference, pair.tested), pair.ask(ApiKey.FETCH, version, make), strict=True
        ):
            assert answer is not None, side


@pytest.mark.parametrize("version", [12, 13, LAST])
def test_a_topic_deleted_and_made_again(pair: Pair, topic: str, version: int) -> None:
    """An old id is not the new topic's."""
    pair.create_topic(topic)
    old = {side: side.topic_id(topic) for side in (pair.reference, pair.tested)}
    state = [DeleteTopicState(name=topic)]
    pair.ask(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=state, timeout_ms=5000))
    pair.settle()
    assert {side.topic_id(topic).int for side in pair.sides} == {0}

    def stale(side: Side) -> FetchRequest:
        name = {"topic_id": old[side]} if version >= 13 else {"topic": topic}
        return FetchRequest(max_wait_ms=0, topics=[FetchTopic(partitions=[at(0)], **name)])

    pair.ask(ApiKey.FETCH, version, stale)
    pair.create_topic(topic)
    if version >= 13:
        pair.ask(ApiKey.FETCH, version, stale)


# The libraries' versions decide how snappy, and zstd at high levels, find what repeats.
COMPRESSED: list[tuple[dict[str, str], tuple[int, ...]]] = [
    ({"compression_type": "gzip"}, (1, 50, 20_000)),
    ({"compression_type": "gzip", "compression_gzip_level": "1"}, (1, 50, 20_000)),
    ({"compression_type": "gzip", "compression_gzip_level": "9"}, (1, 50, 20_000)),
    ({"compression_type": "snappy"}, (1, 20_000)),
    ({"compression_type": "lz4"}, (1, 50, 20_000)),
    ({"compression_type": "lz4", "compression_lz4_level": "12"}, (1, 50, 20_000)),
    ({"compression_type": "zstd"}, (1, 50, 20_000)),
    ({"compression_type": "zstd", "compression_zstd_level": "10"}, (1, 50)),
]


@pytest.mark.parametrize(
    ("configs", "count"),
    [(configs, count) for configs, counts in COMPRESSED for count in counts],
)
def test_the_bytes_that_the_broker_compresses(
    pair: Pair, topic: str, configs: dict[str, str], count: int
) -> None:
    pair.create_topic(topic, **configs)
    pair.ask(ApiKey.PRODUCE, 12, producing(topic, 12, batch(count)))
    pair.ask(ApiKey.FETCH, LAST, fetching(LAST, {topic: [at(0)]}))
