"""The cluster of a broker under controllers of their own: it sees what they decided.

A snapshot replaces the image at once. What subscribers are told then is the difference, as records,
so that one way of taking in changes does for both. Source: MetadataDelta, finishSnapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar
from uuid import UUID

from kafkalite.cluster.cluster import Cluster
from kafkalite.cluster.image import MetadataImage
from kafkalite.cluster.image_difference import difference
from kafkalite.config import BrokerConfig


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

    def replace(self, records: Sequence[object], offset: int) -> None:
        """Take in a snapshot: everything that there is, `offset` the last record it stands for."""
        image = MetadataImage()
        for record in records:
            image.apply(record)
        self.apply(difference(self.image, image), offset)
        self.topic_cache.clear()

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
