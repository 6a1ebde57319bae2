"""Several queues in a story: two groups over three partitions of two topics, and their members.

The states are begun by heartbeats of a member that comes and goes, so that the groups' coordinator
knows them, too. Each member has a connection of its own: with two sessions on one, Apache Kafka
keeps the second when the first has ended and the connection is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.released import until_released
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.share_requests import (
    RENEW,
    ask_patiently,
    batches,
    beat,
    configure,
    produce,
    until_ready,
)
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import share_acknowledge, share_fetch
from kafkalite.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from kafkalite.wire.messages.share_fetch import ShareFetchRequest

GROUPS = (0, 1)
SLOTS = ("a", "b")
# Each by the number of its topic, and its index there.
PARTITIONS = ((0, 0), (0, 1), (1, 0))
COUNTS = (2, 1)
ALL = tuple(range(len(PARTITIONS)))
FINAL_EPOCH = -1
LEAVES = -1
# Longer than Apache Kafka takes to open a share partition of which there is nothing to fetch.
OPENING_MS = 300
PATIENCE_MS = 5000
LONG_LOCK_MS = "60000"

Said = Mapping[int, Sequence[tuple[int, ...]]]
"""First and last offset, and types, by partition."""

NOTHING_SAID: Said = MappingProxyType({})


@dataclass
class Holder:
    """A member of a group: the partitions of its session, and the records that it has of each."""

    group: str
    name: str
    epoch: int = 0
    partitions: list[int] = field(default_factory=list)
    acquired: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    held: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    """The acquired batches of which nothing was said."""

    def begin_anew(self) -> None:
        """The session is over; what the member has of its partitions is released."""
        self.epoch = 0
        for where in self.partitions:
            self.held.pop(where, None)
        self.partitions.clear()

    def say(self, said: Said) -> None:
        """Note what is said of offsets. A renewal gives nothing up."""
        for where, some in said.items():
            for first, last, *types in some:
                if set(types) != {RENEW}:
                    held = self.held.get(where, set())
                    self.held[where] = {e for e in held if e[1] < first or last < e[0]}


@dataclass
class Queues:
    """Two groups, two topics."""

    pair: Pair
    name: str
    transactions: Transactions | None = None
    """The producer that has transactions, once there is one."""
    is_committed_only: set[str] = field(default_factory=set)
    """The groups that do not read what was aborted."""
    new_starts: set[tuple[str, int]] = field(default_factory=set)
    """Records of a partition were deleted, and the group has fetched nothing of it since."""
    shaken: set[str] = field(default_factory=set)
    """The groups whose states may be others than their leaders know."""
    ready: dict[str, set[int]] = field(default_factory=dict)
    """The partitions of each group that its coordinator has begun."""
    lock_ms: str = LONG_LOCK_MS

    def open(self) -> None:
        pair = self.pair
        for side in pair.sides:
            side.forget()
        for number, count in enumerate(COUNTS):
            pair.create_topic(self.topic(number), count)
        for where in ALL:
            self.produce(where, 1)
        self.holders: dict[tuple[int, str], Holder] = {}
        for number in GROUPS:
            group = self.group(number)
            configs = {"share.record.lock.duration.ms": self.lock_ms}
            configure(pair, group, **configs, **{"share.auto.offset.reset": "earliest"})
            self.subscribe(group, ALL)
            for slot in SLOTS:
                self.holders[number, slot] = Holder(group, f"{number}{slot}")
            self.open_partitions(group)

    def open_partitions(self, group: str) -> None:
        """Have members fetch, each of one partition. Apache Kafka reads the state of one
        that is not open by and by, and answers meanwhile with what others have."""
        opening = [Holder(group, f"opening-{where}") for where in ALL]
        for where, holder in enumerate(opening):
            self.fetch(holder, [where], max_wait_ms=OPENING_MS)
        self.end(*opening)

    def is_empty(self, group: str) -> bool:
        """True if no member of the group has a session."""
        return not any(each.epoch for each in self.holders.values() if each.group == group)

    def topic(self, number: int) -> str:
        return f"{self.name}-t{number}"

    def group(self, number: int) -> str:
        return f"{self.name}-g{number}"

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps(story, lambda step: step.tell(self))
        for side in self.pair.sides:
            side.close()

    def produce(self, where: int, *counts: int) -> None:
        number, index = PARTITIONS[where]
        produce(self.pair, self.topic(number), *counts, partition=index)

    def subscribe(self, group: str, wanted: Collection[int]) -> None:
        """A member comes that reads the topics of these partitions, and goes when all of them have
        a state."""
        numbers = sorted({PARTITIONS[each][0] for each in wanted})
        topics = [self.topic(number) for number in numbers]
        answer, _ = beat(self.pair, group, "comes", subscribed_topic_names=topics)
        if answer.error_code == 0:
            ready = self.ready.setdefault(group, set())
            ready |= {each for each in ALL if PARTITIONS[each][0] in numbers}
            until_ready(self.pair, group, topics[0], len(ready))
            beat(self.pair, group, "comes", member_epoch=LEAVES)

    # Requests of members

    def fetch(
        self,
        holder: Holder,
        wanted: Collection[int],
        said: Said = NOTHING_SAID,
        *,
        later: int = 0,
        **fields: Any,
    ) -> Any:
        """A fetch of these partitions, and no others, with acknowledgements."""
        gone = [each for each in holder.partitions if each not in wanted] if holder.epoch else []
        new = [each for each in wanted if each not in holder.partitions or not holder.epoch]
        named = list(dict.fromkeys([*new, *said]))
        values: dict[str, Any] = {
            "group_id": holder.group,
            "member_id": holder.name,
            "share_session_epoch": holder.epoch + later,
            "max_wait_ms": 50,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
        } | fields

        def asked(side: Side, **other: Any) -> ShareFetchRequest:
            return ShareFetchRequest(
                topics=self._topics(side, share_fetch, named, said),
                forgotten_topics_data=[
                    share_fetch.ForgottenTopic(
                        topic_id, [PARTITIONS[each][1] for each in each_gone]
                    )
                    for topic_id, each_gone in self._by_topic(side, gone)
                ],
                **values | other,
            )

        holder.say(said)
        answer = ask_patiently(
            *(self.pair, ApiKey.SHARE_FETCH, 2, asked, holder.name, PATIENCE_MS),
            also_for_errors=True,
        )
        is_final = values["share_session_epoch"] == FINAL_EPOCH
        if answer is not None and not answer.error_code and not is_final:
            holder.epoch = values["share_session_epoch"] + 1
            holder.partitions = list(wanted)
            self._learn(holder, answer)
        return answer

    def say(self, holder: Holder, said: Said, *, later: int = 0, **fields: Any) -> Any:
        values: dict[str, Any] = {
            "group_id": holder.group,
            "member_id": holder.name,
            "share_session_epoch": holder.epoch + later,
        } | fields

        def asked(side: Side) -> ShareAcknowledgeRequest:
            return ShareAcknowledgeRequest(
                topics=self._topics(side, share_acknowledge, list(said), said), **values
            )

        holder.say(said)
        api = ApiKey.SHARE_ACKNOWLEDGE
        answer = self.pair.ask(api, 2, asked, connection=holder.name)[0]
        if answer is not None and not answer.error_code and holder.epoch:
            holder.epoch = values["share_session_epoch"] + 1
        return answer

    def end(self, *holders: Holder) -> None:
        """End their sessions, one after the other: what each has is released before.

        Whether the next release has a start that the one before has moved is Apache Kafka's timing.
        """
        for each in holders:
            with self.until_released(each):
                if each.epoch:
                    self.fetch(each, each.partitions, later=FINAL_EPOCH - each.epoch)
            each.begin_anew()

    def until_released(self, holder: Holder) -> Any:
        """Waits until what the holder has of each partition of its session is given up."""
        keys = {
            (holder.group, self.topic(PARTITIONS[where][0]), PARTITIONS[where][1]): bool(
                holder.held.get(where)
            )
            for where in holder.partitions
        }
        return until_released(self.pair, keys)

    def _by_topic(self, side: Side, wanted: Iterable[int]) -> list[tuple[Any, list[int]]]:
        numbers: dict[int, list[int]] = {}
        for each in wanted:
            numbers.setdefault(PARTITIONS[each][0], []).append(each)
        return [(side.topic_id(self.topic(number)), some) for number, some in numbers.items()]

    def _topics(self, side: Side, messages: Any, wanted: Iterable[int], said: Said) -> list[Any]:
        is_fetch = messages is share_fetch
        topic: Callable[..., Any] = messages.FetchTopic if is_fetch else messages.AcknowledgeTopic
        partition: Callable[..., Any] = (
            messages.FetchPartition if is_fetch else messages.AcknowledgePartition
        )
        return [
            topic(
                topic_id=topic_id,
                partitions=[
                    partition(
                        partition_index=PARTITIONS[each][1],
                        acknowledgement_batches=batches(messages, tuple(said.get(each, ()))),
                    )
                    for each in some
                ],
            )
            for topic_id, some in self._by_topic(side, wanted)
        ]

    def _learn(self, holder: Holder, answer: Any) -> None:
        ids = {self.pair.reference.topic_id(self.topic(each)): each for each in range(len(COUNTS))}
        for topic in answer.responses:
            for partition in topic.partitions:
                where = PARTITIONS.index((ids[topic.topic_id], partition.partition_index))
                for each in partition.acquired_records:
                    found = each.first_offset, each.last_offset
                    holder.acquired.setdefault(where, []).append(found)
                    holder.held.setdefault(where, set()).add(found)


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, queues: Queues) -> None:
        raise NotImplementedError
