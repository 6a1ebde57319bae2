"""Commits of a second are one event for each group; whoever looks sees all of them."""

from __future__ import annotations

from confluent_kafka import TopicPartition

from kafkalite.control.spy.commits import SECOND_NS, Commits
from kafkalite.testing import broker
from tests.kafkalite.control.clients import consumer, produced, producer


class Told:
    def __init__(self) -> None:
        self.now_ns = 0
        self.events: list[tuple[str | int, ...]] = []
        self.commits = Commits(self.put, lambda: self.now_ns)

    def put(self, kind: str, why: str = "", /, **about: str | int) -> None:
        assert kind == "offsets.committed"
        self.events.append((about["group"], about["commits"], about["offsets"]))


def test_commits_are_summed_for_a_second() -> None:
    told = Told()
    for step in range(25):
        told.now_ns = step * SECOND_NS // 10
        told.commits.committed("g", 2)
    assert told.events == [("g", 10, 20), ("g", 10, 20)]
    told.commits.settle()
    assert told.events[2:] == [("g", 5, 10)]
    told.commits.settle()
    assert len(told.events) == 3


def test_each_group_has_its_own_sum() -> None:
    told = Told()
    told.commits.committed("a", 1)
    told.now_ns = SECOND_NS // 2
    told.commits.committed("b", 1)
    told.now_ns = SECOND_NS
    told.commits.settle(SECOND_NS)
    assert told.events == [("a", 1, 1)]
    told.commits.settle()
    assert told.events == [("a", 1, 1), ("b", 1, 1)]


def told(k: broker, group: str) -> list[tuple[int, int]]:
    """The commits of a group and the offsets in them, by the event."""
    return [
        (int(each.about["commits"]), int(each.about["offsets"]))
        for each in k.events("offsets.committed")
        if each.about["group"] == group
    ]


def test_the_commits_of_a_client_are_told(k: broker) -> None:
    k.create_topic("committed")
    assert produced(k, "committed", b"a", b"b") == [None, None]
    reader = consumer(k, "committing")
    reader.subscribe(["committed"])
    seen = 0
    while seen < 2:
        if (message := reader.poll(10)) is not None and message.error() is None:
            reader.commit(message, asynchronous=False)
            seen += 1
    reader.close()
    commits, offsets = zip(*told(k, "committing"), strict=True)
    assert (sum(commits), sum(offsets)) == (2, 2)


def test_the_commits_of_a_transaction_are_told_when_it_commits(k: broker) -> None:
    k.create_topic("committed")
    made = producer(k, **{"transactional.id": "exactly"})
    reader = consumer(k, "in-transactions")
    made.init_transactions(30)
    for end in (made.abort_transaction, made.commit_transaction):
        made.begin_transaction()
        positions = [TopicPartition("committed", 0, 5)]
        made.send_offsets_to_transaction(positions, reader.consumer_group_metadata(), 30)
        assert told(k, "in-transactions") == []
        end(30)
    k.wait.transaction("exactly", "CompleteCommit")
    assert told(k, "in-transactions") == [(1, 1)]
    reader.close()
