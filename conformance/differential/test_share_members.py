"""Members of share groups come, change and go: the simple assignor gives out the partitions.

Which member gets which is decided by a hash table of topic ids in Apache Kafka, whose assignor may
also leave a partition with too few members. Here each partition has as many as it should, and the
members as many partitions as the others, or one more.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.share_requests import BEAT, until_ready
from conformance.differential.test_share_states import make_share_states
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

COUNTS = (7, 4, 1)
MEMBERS = [f"member-{letter}" for letter in "abcdefghi"]
LEAVES = -1
# By topic: the number of members of each partition, and the numbers of partitions of its members.
Shares = dict[str, tuple[list[int], list[int]]]


class Members:
    """Members of a group on both sides, and what they have been told."""

    def __init__(self, pair: Pair, group: str, topics: list[str]) -> None:
        self.pair, self.group, self.topics = pair, group, topics
        self.epochs: dict[str, int] = {}
        self.told: dict[Side, dict[str, Any]] = {side: {} for side in pair.sides}

    def beat(self, name: str, **fields: Any) -> None:
        values = {"group_id": self.group, "member_id": name, "member_epoch": 0} | fields
        answers = []
        for side in self.pair.sides:
            answer = side.ask(BEAT, 1, ShareGroupHeartbeatRequest(**values))
            if answer.assignment is not None:
                self.told[side][name] = answer.assignment
            answers.append(replace(answer, assignment=None))
        self.pair.compare(f"{BEAT.name} v1", *answers, api=BEAT, version=1)
        if values["member_epoch"] == LEAVES:
            self.epochs.pop(name, None)
            for told in self.told.values():
                told.pop(name, None)
        elif not answers[0].error_code:
            self.epochs[name] = answers[0].member_epoch

    def all_beat(self) -> None:
        for name in sorted(self.epochs):
            self.beat(name, member_epoch=self.epochs[name])

    def shares(self, side: Side) -> Shares:
        names = {side.topic_id(topic): topic for topic in self.topics}
        held: dict[str, Counter[int]] = defaultdict(Counter)
        counts: dict[str, list[int]] = defaultdict(list)
        for assignment in self.told[side].values():
            for each in assignment.topic_partitions:
                held[names[each.topic_id]].update(each.partitions)
                counts[names[each.topic_id]].append(len(each.partitions))
        return {
            topic: ([held[topic][index] for index in range(count)], sorted(counts[topic]))
            for topic, count in zip(self.topics, COUNTS, strict=True)
        }


@pytest.fixture
def topics(pair: Pair, unique: Callable[[str], str]) -> list[str]:
    make_share_states(pair)
    return [pair.create_topic(unique("queue"), count) for count in COUNTS]


@pytest.mark.parametrize("seed", range(6))
def test_who_gets_how_much(pair: Pair, group: str, topics: list[str], seed: int) -> None:
    chance = Random(seed)
    members = Members(pair, group, topics)
    # All of the states are begun, which Apache Kafka does by and by.
    members.beat("first", subscribed_topic_names=topics)
    until_ready(pair, group, topics[0], sum(COUNTS))
    time.sleep(1.1)
    members.all_beat()
    # All read the same topic, or each of them any.
    choices = [topics[:1]] if seed % 2 else [topics[:1], topics[:2], topics[1:], topics]
    if seed % 2:
        members.beat("first", member_epoch=LEAVES)
    for _ in range(12):
        for _ in range(4):
            name, epochs = chance.choice(MEMBERS), members.epochs
            some, dice = chance.choice(choices), chance.random()
            if name not in epochs:
                members.beat(name, subscribed_topic_names=some)
            elif dice < 0.2:
                members.beat(name, member_epoch=LEAVES)
            elif dice < 0.4:
                members.beat(name, member_epoch=epochs[name], subscribed_topic_names=some)
            else:
                late = chance.choice((0, 0, 0, 1, 2))
                members.beat(name, member_epoch=max(1, epochs[name] - late))
        members.all_beat()
        members.all_beat()
        compare_shares(*(members.shares(side) for side in pair.sides), is_one_topic=seed % 2 == 1)


def compare_shares(reference: Shares, tested: Shares, *, is_one_topic: bool) -> None:
    for topic, (held, counts) in tested.items():
        wanted = math.ceil(len(counts) / len(held))
        assert set(held) <= {wanted}, topic
        theirs, _ = reference[topic]
        assert max(theirs) <= wanted, topic
        if is_one_topic and counts:
            assert max(counts) - min(counts) <= 1, topic
