"""The ends of partitions, asked from their leaders on whatever broker.

Source: Kafka's NetworkPartitionMetadataClient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

import trio

from kafkalite.peers.link import Address, Connect, Link, PeerGone
from kafkalite.requests.slices import AT_ONCE, batches
from kafkalite.wire.api_keys import LATEST
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics

Where = tuple[UUID, int]
_CONSUMER: Final = -1
# Seconds before a leader is asked again that did not answer.
_PAUSES: Final = (1, 2, 4, 8, 16)


class LatestOffsets:
    """`address_of` gives the address of a broker, None if it is not registered."""

    def __init__(
        self,
        topics: Topics,
        address_of: Callable[[int], Address | None],
        timeout_seconds: float,
        connect: Connect,
    ) -> None:
        self._topics = topics
        self._address_of = address_of
        self._timeout_seconds = timeout_seconds
        self._connect = connect
        self._links: dict[Address, Link] = {}

    async def find(self, partitions: Iterable[Where]) -> Mapping[Where, int | KafkaError]:
        """The offset of the next record that consumers see, or why it is not known. In a task."""
        found: dict[Where, int | KafkaError] = {}
        by_address: dict[Address, dict[tuple[str, int], Where]] = {}
        for number, (topic_id, index) in enumerate(partitions, 1):
            if not number % AT_ONCE:
                await trio.lowlevel.checkpoint()
            topic = self._topics.by_id(topic_id)
            if topic is None or index >= len(topic.partitions):
                found[topic_id, index] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                continue
            address = self._address_of(topic.partitions[index].leader_id)
            if address is None:
                found[topic_id, index] = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
                continue
            by_address.setdefault(address, {})[topic.name, index] = topic_id, index
        async with trio.open_nursery() as nursery:
            for address, wanted in by_address.items():
                nursery.start_soon(self._ask, address, wanted, found)
        return found

    async def _ask(
        self,
        address: Address,
        wanted: Mapping[tuple[str, int], Where],
        found: dict[Where, int | KafkaError],
    ) -> None:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = Link("kafkalite-latest-offsets", self._connect)
        gone = KafkaError(ErrorCode.NETWORK_EXCEPTION)
        found.update(dict.fromkeys(wanted.values(), gone))
        for some in batches(wanted):
            answer = await self._answer(link, address, _ends_of(some))
            if answer is None:
                return
            _take(answer, wanted, found)

    async def _answer(
        self, link: Link, address: Address, body: ListOffsetsRequest
    ) -> ListOffsetsResponse | None:
        """A leader may come back, or its broker be restarting: it is asked several times."""
        for pause in (*_PAUSES, None):
            try:
                answer: ListOffsetsResponse = await link.ask(
                    address, body, timeout_seconds=self._timeout_seconds
                )
            except PeerGone:
                if pause is not None:
                    await trio.sleep(pause)
            else:
                return answer
        return None

    async def close(self) -> None:
        """Give the connections back."""
        for link in self._links.values():
            await link.close()


def _ends_of(partitions: Iterable[tuple[str, int]]) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for name, index in partitions:
        topic = topics.setdefault(name, ListOffsetsTopic(name=name))
        topic.partitions.append(ListOffsetsPartition(partition_index=index, timestamp=LATEST))
    return ListOffsetsRequest(replica_id=_CONSUMER, topics=list(topics.values()))


def _take(
    answer: ListOffsetsResponse,
    wanted: Mapping[tuple[str, int], Where],
    found: dict[Where, int | KafkaError],
) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            where = wanted.get((topic.name, each.partition_index))
            if where is not None:
                code = ErrorCode(each.error_code)
                found[where] = KafkaError(code) if code else each.offset
