"""The share coordinator (KIP-932): Initialize, Read, Write, Delete and ReadSummary of share
states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import OWN, Side, at
from conformance.differential.comparison import Pair
from conformance.harness.members import NOT_YET
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest

SHARE = 2
NOT_COORDINATOR = 16
UNKNOWN = UUID(int=77)
# There are at most so many partitions of the topic of states.
_ASKED = 10


@pytest.fixture
def queue(pair: Pair, topic: str) -> str:
    """A topic of two partitions; the topic of share states is there on both sides."""
    pair.create_topic(topic, 2)
    make_share_states(pair)
    return topic


def _summary_of_all() -> Any:
    """Asks each partition of the topic of states: keys that end with the digits after each other
    have hashes after each other."""
    messages = read_share_group_state_summary
    asked = [messages.PartitionData(partition=each, leader_epoch=0) for each in range(_ASKED)]
    topics = [messages.ReadStateSummaryData(topic_id=UNKNOWN, partitions=asked)]
    return messages.ReadShareGroupStateSummaryRequest(group_id="g", topics=topics)


_ASKS_ALL = _summary_of_all()


def _all_loaded(side: Side, of_first: Any) -> bool:
    """True if each partition has a node that has loaded it. `of_first` is what node 1 answers."""
    others = [
        side.ask(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, _ASKS_ALL, at(node, OWN))
        for node in side.nodes[1:]
    ]
    loaded = {
        each.partition
        for answer in (of_first, *others)
        for result in answer.results
        for each in result.partitions
        if each.error_code not in NOT_YET
    }
    return loaded == set(range(_ASKED))


def make_share_states(pair: Pair) -> None:
    """Have both sides make the topic of share states, and wait for its coordinators."""
    for side in pair.sides:
        find = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[f"g:{'A' * 22}:0"])
        side.until(
            ApiKey.FIND_COORDINATOR,
            6,
            find,
            lambda answer: answer.coordinators[0].error_code == 0,
        )
        side.until(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, _ASKS_ALL, partial(_all_loaded, side))
    pair.settle()


def about(
    messages: Any, name: str, group: str, topic: str | UUID, partitions: Sequence[Any]
) -> Callable[[Side], Any]:
    """A request about partitions of one topic: `name` is the verb in the names of its classes."""
    api = messages.__name__.rpartition(".")[2].title().replace("_", "")

    def request(side: Side) -> Any:
        topic_id = topic if isinstance(topic, UUID) else side.topic_id(topic)
        data = getattr(messages, f"{name}Data")(topic_id=topic_id, partitions=partitions)
        return getattr(messages, f"{api}Request")(group_id=group, topics=[data])

    return request


def initialize(
    pair: Pair, group: str, topic: str | UUID, *partitions: int, epoch: int = 1, start: int = 0
) -> None:
    messages = initialize_share_group_state
    asked = [
        messages.PartitionData(partition=partition, state_epoch=epoch, start_offset=start)
        for partition in partitions
    ]
    request = about(messages, "InitializeState", group, topic, asked)
    pair.ask(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, request, retry=NOT_COORDINATOR)


def write(pair: Pair, group: str, topic: str | UUID, version: int = 1, **fields: Any) -> None:
    messages = write_share_group_state
    batches = [
        messages.StateBatch(
            first_offset=first, last_offset=last, delivery_state=state, delivery_count=count
        )
        for first, last, state, count in fields.pop("batches", ())
    ]
    data = {
        "partition": 0,
        "state_epoch": 1,
        "leader_epoch": 0,
        "start_offset": 0,
        "delivery_complete_count": 0,
        "state_batches": batches,
    } | fields
    if version == 0:
        del data["delivery_complete_count"]

    request = about(messages, "WriteState", group, topic, [messages.PartitionData(**data)])
    pair.ask(ApiKey.WRITE_SHARE_GROUP_STATE, version, request)


def read(pair: Pair, group: str, topic: str | UUID, partition: int = 0, epoch: int = -1) -> Any:
    messages = read_share_group_state
    asked = [messages.PartitionData(partition=partition, leader_epoch=epoch)]
    request = about(messages, "ReadState", group, topic, asked)
    api = ApiKey.READ_SHARE_GROUP_STATE
    return pair.ask(api, 0, request)[0]


def summarize(pair: Pair, group: str, topic: str | UUID, *partitions: int) -> None:
    messages = read_share_group_state_summary
    asked = [messages.PartitionData(partition=each, leader_epoch=0) for each in partitions]
    request = about(messages, "ReadStateSummary", group, topic, asked)
    for version in (0, 1):
        pair.ask(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, version, request)


def delete(pair: Pair, group: str, topic: str | UUID, *partitions: int) -> None:
    messages = delete_share_group_state
    asked = [messages.PartitionData(partition=each) for each in partitions]
    request = about(messages, "DeleteState", group, topic, asked)
    pair.ask(ApiKey.DELETE_SHARE_GROUP_STATE, 0, request)


def test_a_state_from_its_beginning_to_its_end(pair: Pair, queue: str) -> None:
    summarize(pair, "g", queue, 0, 1)
    read(pair, "g", queue)
    write(pair, "g", queue)
    initialize(pair, "g", queue, 0, start=-1)
    summarize(pair, "g", queue, 0)
    read(pair, "g", queue)
    initialize(pair, "g", queue, 0, 1, epoch=2, start=10)
    read(pair, "g", queue, epoch=3)
    summarize(pair, "g", queue, 0, 1)
    for version in (0, 1):
        write(
            pair,
            "g",
            queue,
            version,
            state_epoch=2,
            leader_epoch=3,
            start_offset=10,
            delivery_complete_count=4,
            batches=[(10, 19, 0, 1), (20, 24, 2, 1), (15, 17, 2, 2)],
        )
        read(pair, "g", queue)
        summarize(pair, "g", queue, 0)
    delete(pair, "g", queue, 0, 1)
    read(pair, "g", queue)
    summarize(pair, "g", queue, 0)
    delete(pair, "g", queue, 0)


def test_who_is_fenced(pair: Pair, queue: str) -> None:
    initialize(pair, "fenced", queue, 0, epoch=5)
    initialize(pair, "fenced", queue, 0, epoch=4)
    read(pair, "fenced", queue, epoch=7)
    read(pair, "fenced", queue, epoch=6)
    for fields in (
        {"state_epoch": 4, "leader_epoch": 7},
        {"state_epoch": 5, "leader_epoch": 6},
        {"state_epoch": -1, "leader_epoch": -1},
        {"state_epoch": 9, "leader_epoch": 9},
    ):
        write(pair, "fenced", queue, **fields)
    read(pair, "fenced", queue)


def test_what_makes_no_sense(pair: Pair, queue: str) -> None:
    initialize(pair, "odd", queue, 0)
    for topic, partition in ((queue, -1), (queue, 9), (UNKNOWN, 0)):
        initialize(pair, "odd", topic, partition)
        read(pair, "odd", topic, partition)
        write(pair, "odd", topic, partition=partition)
        summarize(pair, "odd", topic, partition)
        delete(pair, "odd", topic, partition)
    initialize(pair, "odd", queue)
    summarize(pair, "odd", queue)
    delete(pair, "odd", queue)
    initialize(pair, "", queue, 0)
    read(pair, "", queue)
    write(pair, "", queue)
    delete(pair, "", queue, 0)


@pytest.mark.parametrize("seed", range(5))
def test_batches_over_one_another(pair: Pair, queue: str, seed: int) -> None:
    """Acknowledgements come: the state of an offset changes, and the start moves on."""
    from random import Random

    chance = Random(seed)
    group = f"batches-{seed}"
    initialize(pair, group, queue, 0)
    start = 0
    for _ in range(40):
        start += chance.choice((0, 0, 0, 1, 5))
        batches = []
        for _ in range(chance.randrange(4)):
            first = start + chance.randrange(30)
            batches.append(
                (
                    first,
                    first + chance.randrange(8),
                    chance.choice((0, 2, 4)),
                    chance.randrange(1, 4),
                )
            )
        write(pair, group, queue, start_offset=chance.choice((start, start, -1)), batches=batches)
        read(pair, group, queue)


def test_where_the_coordinator_is(pair: Pair, queue: str) -> None:
    for key in ("g:AAAAAAAAAAAAAAAAAAAAAA:0", "a:b:AAAAAAAAAAAAAAAAAAAAAA:3", "", "g", "g:x:y"):
        request = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[key])
        for version in (4, 5, 6):
            pair.ask(ApiKey.FIND_COORDINATOR, version, request)
