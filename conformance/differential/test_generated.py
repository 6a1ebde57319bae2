"""Sequences nobody thought of: hypothesis writes them, and shrinks what differs.

A small world (three topics, two groups, two producers) that every example has for itself. How many
examples there are is for the environment to say: `KAFKALITE_EXAMPLES=5000 pytest ...` for hours.
"""

import os
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.differential import test_group_offsets as group_offsets
from conformance.differential.pair import Pair, wait_for_topic
from conformance.differential.side import Side
from conformance.differential.test_fetch import at
from conformance.differential.test_fetch import fetching as fetch_request
from conformance.differential.test_groups import PROTOCOL, beat, describe, join, leave, sync
from conformance.differential.test_metadata import about
from conformance.differential.test_offsets import listing, when
from conformance.differential.test_produce import NOW, producing
from conformance.differential.test_topics import deleting, growing, wanted
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression
from kafkalite.wire.messages.create_topics import CreateTopicsRequest
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest
from kafkalite.wire.records import Record, build_batch

EXAMPLES = int(os.environ.get("KAFKALITE_EXAMPLES", "40"))
SECONDS = 10
COORDINATOR_NOT_AVAILABLE = 15


class World:
    """One example's topics and groups, and how each step is asked of both brokers."""

    def __init__(self, pair: Pair, name: str) -> None:
        self.pair, self.name = pair, name
        self.partitions: dict[str, int] = {}
        self.generations: dict[str, int] = {}

    def topic(self, number: int) -> str:
        return f"{self.name}-{number}"

    def group(self, number: int) -> str:
        return f"{self.name}-group-{number}"

    def settle(self, topic: str, partitions: int) -> None:
        """Wait until both brokers see the topic as it now is; 0 for gone."""
        for side in (self.pair.reference, self.pair.tested):
            deadline = time.monotonic() + SECONDS
            if partitions:
                wait_for_topic(side, topic, partitions)
            while (side.topic_id(topic) == UUID(int=0)) != (partitions == 0):
                assert time.monotonic() < deadline
        self.partitions[topic] = partitions

    def create(self, number: int, version: int, partitions: int) -> None:
        request = CreateTopicsRequest(topics=[wanted(self.topic(number), partitions)])
        answer, _ = self.pair.ask(ApiKey.CREATE_TOPICS, version, request)
        if answer.topics[0].error_code == 0:
            self.settle(self.topic(number), max(1, partitions))

    def delete(self, number: int, version: int) -> None:
        topic = self.topic(number)
        answer, _ = self.pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version, topic))
        if answer.responses[0].error_code == 0:
            self.settle(topic, 0)
            self.offsets_are_gone(topic)

    def offsets_are_gone(self, topic: str) -> None:
        """Apache Kafka forgets what was committed for a topic a moment after the topic is gone."""
        for side in (self.pair.reference, self.pair.tested):
            for group in (self.group(0), self.group(1)):
                request = OffsetFetchRequest(group_id=group, topics=None)
                deadline = time.monotonic() + SECONDS
                while topic in {t.name for t in side.ask(ApiKey.OFFSET_FETCH, 7, request).topics}:
                    assert time.monotonic() < deadline

    def grow(self, number: int, version: int, count: int) -> None:
        topic = self.topic(number)
        answer, _ = self.pair.ask(ApiKey.CREATE_PARTITIONS, version, growing(topic, count))
        if answer.results[0].error_code == 0:
            self.settle(topic, count)

    def produce(
        self,
        number: int,
        version: int,
        partition: int,
        count: int,
        codec: Compression,
        producer: tuple[int, int, int] | None,
    ) -> None:
        records = [Record(timestamp=NOW + i * 10, key=b"k", value=b"v" * i) for i in range(count)]
        ids = dict(
            zip(("producer_id", "producer_epoch", "base_sequence"), producer or (), strict=False)
        )
        batch = build_batch(records, compression=codec, **ids)
        request = producing(self.topic(number), version, batch, partition=partition)
        self.pair.ask(ApiKey.PRODUCE, version, request)

    def fetch(self, number: int, version: int, offsets: list[int], max_bytes: int) -> None:
        if not self.partitions.get(self.topic(number)):
            # Two partitions of a topic whose id is zero: Apache Kafka stumbles (a null topic name
            # in FetchResponse.matchingTopic), which no client will ever see.
            version = min(version, 12)
        parts = [at(o, i, partition_max_bytes=max_bytes) for i, o in enumerate(offsets)]
        request = fetch_request(version, {self.topic(number): parts})
        self.pair.ask(ApiKey.FETCH, version, request)

    def list_offsets(self, number: int, version: int, timestamp: int, partition: int) -> None:
        request = listing(self.topic(number), when(timestamp, partition))
        self.pair.ask(ApiKey.LIST_OFFSETS, version, request)

    def metadata(self, number: int, version: int) -> None:
        self.pair.ask(ApiKey.METADATA, max(version, 4), about(self.topic(number)))

    def commit(
        self, number: int, version: int, group: int, member: str | None, generation: int
    ) -> None:
        options: dict[str, Any] = {}
        if member:
            current = self.generations.get(self.group(group), 0)
            options = {
                "generation_id_or_member_epoch": current + generation,
                "member": f"{self.group(group)}-{member}",
            }
        request = group_offsets.committing(
            version, self.group(group), self.topic(number), 0, 1, **options
        )
        self.pair.ask(ApiKey.OFFSET_COMMIT, version, request)

    def committed(self, number: int | None, version: int, group: int) -> None:
        topic = None if number is None else self.topic(number)
        request = group_offsets.fetching(version, self.group(group), topic, 0, 1)
        self.pair.ask(ApiKey.OFFSET_FETCH, version, request)

    def join(self, group: int, version: int) -> None:
        """One member a group: with two they would wait for each other."""
        name = self.group(group)
        answer = join(self.pair, name, version, f"{name}-a")
        if answer.error_code == 0:
            self.generations[name] = answer.generation_id

    def sync(self, group: int, version: int, generation: int) -> None:
        name = self.group(group)
        current = self.generations.get(name, 0) + generation
        member = f"{name}-a"
        sync(self.pair, name, version, current, member, to={member: b"all"}, **PROTOCOL)

    def beat(self, group: int, version: int, generation: int) -> None:
        name = self.group(group)
        beat(self.pair, name, version, self.generations.get(name, 0) + generation, f"{name}-a")

    def leave(self, group: int, version: int) -> None:
        leave(self.pair, self.group(group), version, f"{self.group(group)}-a")

    def describe(self, group: int) -> None:
        describe(self.pair, self.group(group))


topics = st.integers(0, 2)
groups = st.integers(0, 1)
generations = st.sampled_from([0, 0, 0, 1, -1])


def step(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(st.just(name), *arguments)


def versions(first: int, last: int) -> st.SearchStrategy[int]:
    return st.integers(first, last)


sequences = st.sampled_from([0, 1, 2, 3, 5])
producers = st.one_of(
    st.none(), st.tuples(st.sampled_from([1000, 1001]), st.integers(0, 1), sequences)
)
offsets = st.lists(st.integers(-1, 12), min_size=1, max_size=3)
timestamps = st.one_of(st.integers(-6, 0), st.integers(0, 60).map(lambda ms: NOW + ms))
codecs = st.sampled_from([Compression.NONE, Compression.GZIP, Compression.LZ4])
steps = st.one_of(
    step("create", topics, versions(2, 7), st.sampled_from([1, 2, 3, 0, -1])),
    step("delete", topics, versions(1, 6)),
    step("grow", topics, versions(0, 3), st.integers(0, 4)),
    *[
        step(
            "produce",
            topics,
            versions(3, 13),
            st.integers(0, 2),
            st.integers(1, 4),
            codecs,
            producers,
        )
    ]
    * 3,
    *[step("fetch", topics, versions(4, 18), offsets, st.sampled_from([1, 100, 10_000]))] * 2,
    step("list_offsets", topics, versions(1, 11), timestamps, st.integers(0, 2)),
    step("metadata", topics, versions(4, 13)),
    step("commit", topics, versions(2, 10), groups, st.sampled_from([None, "a", "b"]), generations),
    step("committed", st.one_of(st.none(), topics), versions(2, 10), groups),
    step("join", groups, versions(0, 9)),
    step("sync", groups, versions(0, 5), generations),
    step("beat", groups, versions(0, 4), generations),
    step("leave", groups, versions(0, 5)),
    step("describe", groups),
)
# A world of its own begins with a topic: without one there is little to differ about.
stories = st.lists(steps, min_size=5, max_size=40).map(
    lambda story: [("create", 0, 7, 2), ("create", 1, 7, 1), *story]
)


@settings(
    max_examples=EXAMPLES,
    derandomize="KAFKALITE_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(story=stories)
def test_stories(pair: Pair, unique: Callable[[str], str], story: list[tuple[Any, ...]]) -> None:
    world = World(pair, unique("world"))
    for side in (pair.reference, pair.tested):
        side.generated.clear()
        side.member_ids.clear()
        side.close()
        coordinator_is_up(side, world.group(0))
        coordinator_is_up(side, world.group(1))
    for name, *arguments in story:
        getattr(world, name)(*arguments)


def coordinator_is_up(side: Side, group: str) -> None:
    from conformance.differential.pair import error_codes
    from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
    from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest

    deadline = time.monotonic() + SECONDS
    find = FindCoordinatorRequest(coordinator_keys=[group])
    ask = DescribeGroupsRequest(groups=[group])
    while error_codes(side.ask(ApiKey.FIND_COORDINATOR, 6, find)) != {0} or error_codes(
        side.ask(ApiKey.DESCRIBE_GROUPS, 5, ask)
    ) != {0}:
        assert time.monotonic() < deadline
