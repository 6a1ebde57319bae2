"""Markers to the leaders of partitions on other brokers, and on this one.

No marker is sent before all in-sync replicas have the decision. The markers of all transactions
that end go to each broker together. What fails is tried again, with the leader that there is then,
until the coordinator resigns. Source: TransactionMarkerChannelManager,
TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.coordinators.shared_requests import Question, SharedRequests
from kafkalite.coordinators.transaction_coordinator.markers import Ending
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.peers.link import Address, Connect
from kafkalite.requests.purgatory import wait_until
from kafkalite.supervision import supervised
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics
    from kafkalite.requests.slices import Steps

# A marker that could not be written is tried again after this time (Kafka's request retry
# backoff).
_RETRY_SECONDS: Final = 0.1
# The partition has the marker, or has seen a later epoch of this producer.
_HAS_ENDED: Final = frozenset({ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH})

Sent = Callable[[Ending], None]


class MarkerChannels:
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
        self._requests = SharedRequests("kafkalite-markers", _Markers(), timeout_seconds, connect)
        self._under_way: set[Ending] = set()
        self._to_end, self._ending = trio.open_memory_channel[tuple[Ending, Sent]](inf)

    def sending(self, ending: Ending, sent: Sent) -> Steps[None]:
        """Have the markers sent (Markers.sending); `sent` is called once all are."""
        if not ending.missing:
            sent(ending)
        elif ending not in self._under_way:
            self._under_way.add(ending)
            self._to_end.send_nowait((ending, sent))
        yield

    async def run(self) -> None:
        """Send markers for ever."""
        async with trio.open_nursery() as nursery:
            async for ending, sent in self._ending:
                nursery.start_soon(
                    supervised, "markers of a transaction", partial(self._end, ending, sent)
                )

    async def close(self) -> None:
        """Give the connections back."""
        await self._requests.close()

    async def _end(self, ending: Ending, sent: Sent) -> None:
        decision = ending.decision
        await wait_until(lambda: decision.verdict is not None, [decision.partition.watchers], inf)
        await self._mark(ending, ending.missing)
        self._under_way.discard(ending)
        if not ending.missing:
            sent(ending)

    async def _mark(self, ending: Ending, partitions: Collection[TopicPartition]) -> None:
        """Send the markers of these partitions until they have them, or the coordinator resigns.

        Those of each broker are seen to by themselves, so that none waits for another's.
        """
        while ending.decision.verdict is ErrorCode.NONE:
            by_address = self._by_address(ending, partitions)
            if not by_address:
                return
            if len(by_address) > 1:
                async with trio.open_nursery() as nursery:
                    for some in by_address.values():
                        nursery.start_soon(self._mark, ending, some)
                return
            ((address, partitions),) = by_address.items()
            if address is not None:
                codes = await self._requests.ask(address, _Marker(ending, partitions))
                ending.missing.difference_update(
                    where for where, code in codes.items() if code in _HAS_ENDED
                )
                if ending.missing.isdisjoint(partitions):
                    return
            await trio.sleep(_RETRY_SECONDS)

    def _by_address(
        self, ending: Ending, partitions: Collection[TopicPartition]
    ) -> dict[Address | None, list[TopicPartition]]:
        """The partitions that have no marker yet, by leader. Those of deleted topics need none."""
        found: dict[Address | None, list[TopicPartition]] = {}
        for where in sorted(ending.missing.intersection(partitions)):
            topic = self._topics.get(where.topic)
            if topic is None or where.partition >= len(topic.partitions):
                ending.missing.discard(where)
                continue
            address = self._address_of(topic.partitions[where.partition].leader_id)
            found.setdefault(address, []).append(where)
        return found


class _Marker(Question):
    """The marker of one transaction for partitions with one leader."""

    def __init__(self, ending: Ending, partitions: Collection[TopicPartition]) -> None:
        super().__init__(partitions)
        transaction = ending.transaction
        topics: dict[str, WritableTxnMarkerTopic] = {}
        for name, index in partitions:
            topic = topics.setdefault(name, WritableTxnMarkerTopic(name=name))
            topic.partition_indexes.append(index)
        self.marker = WritableTxnMarker(
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            transaction_result=ending.commit,
            topics=list(topics.values()),
            coordinator_epoch=ending.decision.leader_epoch,
            transaction_version=transaction.client_version,
        )


class _Markers:
    """Many markers in one WriteTxnMarkers; the answer names them by producer id."""

    def is_separate(self, question: _Marker, chosen: Sequence[_Marker]) -> bool:
        producer_id = question.marker.producer_id
        return any(each.marker.producer_id == producer_id for each in chosen)

    def request(self, questions: Sequence[_Marker]) -> WriteTxnMarkersRequest:
        return WriteTxnMarkersRequest(markers=[each.marker for each in questions])

    def take(self, questions: Sequence[_Marker], answer: WriteTxnMarkersResponse) -> None:
        by_producer = {each.marker.producer_id: each for each in questions}
        for result in answer.markers:
            asked = by_producer.get(result.producer_id)
            if asked is not None:
                asked.codes = {
                    TopicPartition(topic.name, each.partition_index): ErrorCode(each.error_code)
                    for topic in result.topics
                    for each in topic.partitions
                }
