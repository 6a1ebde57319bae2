"""The cluster of a broker under controllers of their own: it sees what they decided.

Of a snapshot the difference is taken in, as records, so that one way of taking in changes does for
both. Many changes are taken in some at a time, a new topic always whole. Source: MetadataDelta,
finishSnapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final
from uuid import UUID

from kafkalite.cluster.cluster import Cluster
from kafkalite.cluster.image import MetadataImage
from kafkalite.cluster.image_difference import difference
from kafkalite.cluster.new_partitions import gathered_decided, pieces
from kafkalite.config import BrokerConfig
from kafkalite.requests.slices import Steps
from kafkalite.wire.messages.stored.clear_elr_record import ClearElrRecord

# Records looked at in one step.
_AT_ONCE: Final = 64


class ObservedCluster(Cluster):
    """Takes in what is committed. `quorum_epoch` and `new_producer_id` are the quorum client's."""

    is_observed: ClassVar[bool] = True

    def __init__(
        self,
        config: BrokerConfig,
        *,
        cluster_id: str,
        directory_ids: Sequence[UUID],
        place_log: Callable[[str, int], UUID],
        quorum_epoch: Callable[[], int],
        new_producer_id: Callable[[], int],
    ) -> None:
        super().__init__(
            config, cluster_id=cluster_id, directory_ids=directory_ids, place_log=place_log
        )
        self._quorum_epoch = quorum_epoch
        self._new_producer_id = new_producer_id

    @property
    def leader_epoch(self) -> int:
        """The quorum's epoch."""
        return self._quorum_epoch()

    def allocate_producer_id(self, node_id: int) -> int:
        """One of this broker's block. Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS)."""
        return self._new_producer_id()

    def changes_of(self, records: Sequence[object], *, is_snapshot: bool) -> Steps[list[object]]:
        """The changes that committed records add up to, for `taking_in`.

        A snapshot is everything that there is.
        """
        if not is_snapshot:
            return (yield from gathered_decided(self.image, records))
        image = MetadataImage()
        for count, record in enumerate(records):
            if count % _AT_ONCE == 0:
                yield
            image.apply(record)
        differing: list[object] = []
        for record in difference(self.image, image):
            differing.append(record)
            if len(differing) % _AT_ONCE == 0:
                yield
        return (yield from gathered_decided(self.image, differing))

    def taking_in(self, changes: Sequence[object], offset: int) -> Steps[None]:
        """Take in changes, some at a time; `offset` is the last record that they stand for."""
        for some in self._with_clearings(changes):
            for piece in pieces(some):
                yield from self.applying(piece, self.image.offset)
                yield
        self.apply((), offset)

    def _with_clearings(self, changes: Sequence[object]) -> Iterator[Sequence[object]]:
        """The changes in their order. Each clearing of eligible leaders becomes the changes of the
        partitions that have some when all before it is taken in."""
        begin = 0
        for end, change in enumerate(changes):
            if isinstance(change, ClearElrRecord):
                yield changes[begin:end]
                yield self.image.clearing(change)
                begin = end + 1
        yield changes[begin:]

    def registered_epoch(self, broker_id: int) -> int | None:
        """The broker epoch of a living one; None if it is fenced, shutting down or unknown."""
        known = self.image.brokers.get(broker_id)
        if known is None or known.fenced or known.in_controlled_shutdown:
            return None
        return known.broker_epoch

    def known_epoch(self, broker_id: int) -> int | None:
        """The broker epoch of a registered one, fenced or not; None if it is unknown."""
        known = self.image.brokers.get(broker_id)
        return None if known is None else known.broker_epoch

    def when_living(self, broker_id: int, call: Callable[[], None]) -> None:
        """Call it now if a broker is unfenced, and with every change while it is."""

        def look(_: Sequence[object] = ()) -> None:
            if self.registered_epoch(broker_id) is not None:
                call()

        self.subscribe(look)
        look()
