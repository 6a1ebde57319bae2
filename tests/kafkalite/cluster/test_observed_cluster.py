"""A cluster under controllers: what they committed is taken in, record by record or all at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from uuid import UUID

import pytest

from kafkalite.cluster.image import MetadataImage
from kafkalite.cluster.image_records import records_of
from kafkalite.cluster.observed_cluster import ObservedCluster
from kafkalite.config import BrokerConfig
from kafkalite.requests.slices import at_once
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord
from kafkalite.wire.messages.stored.remove_topic_record import RemoveTopicRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from kafkalite.wire.messages.stored.unregister_broker_record import UnregisterBrokerRecord

FENCED, UNFENCED, LEAVING = 1, -1, 1


class Observed:
    """A cluster, and what its subscribers were told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.epoch = 3
        self.cluster = ObservedCluster(
            BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0"}),
            cluster_id="c",
            directory_ids=[UUID(int=100)],
            place_log=lambda name, index: UUID(int=100),
            quorum_epoch=lambda: self.epoch,
            new_producer_id=lambda: 42,
        )
        self.cluster.subscribe(self._tell)

    def _tell(self, records: Sequence[object]) -> None:
        self.told += records

    def has(self, *records: object) -> None:
        self.cluster.apply(list(records), len(self.told))

    def is_now(self, records: Sequence[object], offset: int) -> None:
        """A snapshot comes."""
        changes = at_once(self.cluster.changes_of(records, is_snapshot=True))
        at_once(self.cluster.taking_in(changes, offset))


def registered(broker_id: int, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch, fenced=True)


@pytest.fixture
def observed() -> Observed:
    return Observed()


def test_the_epoch_and_producer_ids_are_the_quorum_s(observed: Observed) -> None:
    assert observed.cluster.is_observed
    assert observed.cluster.leader_epoch == 3
    observed.epoch = 4
    assert observed.cluster.leader_epoch == 4
    assert observed.cluster.allocate_producer_id(1) == 42


def test_a_broker_s_epoch_is_known_and_counts_while_it_lives(observed: Observed) -> None:
    cluster = observed.cluster

    def epochs() -> tuple[int | None, int | None]:
        return cluster.known_epoch(2), cluster.registered_epoch(2)

    assert epochs() == (None, None)
    observed.has(registered(2, 7))
    assert epochs() == (7, None), "it is fenced at first"
    observed.has(BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=7, fenced=UNFENCED))
    assert epochs() == (7, 7)
    observed.has(
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=7, in_controlled_shutdown=LEAVING)
    )
    assert epochs() == (7, None)
    observed.has(UnregisterBrokerRecord(broker_id=2, broker_epoch=7))
    assert epochs() == (None, None)


def test_it_tells_when_a_broker_lives(observed: Observed) -> None:
    called: list[int] = []
    observed.has(registered(1, 7))
    observed.cluster.when_living(1, lambda: called.append(1))
    observed.has(registered(2, 8))
    assert called == []
    observed.has(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=UNFENCED),
    )
    assert called == [1]
    observed.cluster.when_living(1, lambda: called.append(2))
    assert called == [1, 2]


def test_of_a_snapshot_the_difference_is_told(observed: Observed) -> None:
    kept, gone, new = (TopicRecord(name=name, topic_id=UUID(int=n)) for n, name in enumerate("kgn"))
    observed.has(kept, gone)
    observed.told.clear()
    observed.is_now([kept, new], 10)
    assert set(observed.cluster.image.topics) == {"k", "n"}
    assert RemoveTopicRecord(topic_id=gone.topic_id) in observed.told
    assert new in observed.told
    assert kept not in observed.told


@pytest.mark.parametrize("seed", range(10))
def test_after_a_snapshot_there_is_what_it_says(observed: Observed, seed: int) -> None:
    """Whatever there was before."""
    random = Random(seed)
    snapshots: list[list[object]] = []
    for _ in range(2):
        image = MetadataImage()
        for name in random.sample("abcd", 2):
            image.apply(TopicRecord(name=name, topic_id=UUID(int=ord(name))))
        for node_id in random.sample(range(4), 2):
            image.apply(registered(node_id, random.randint(0, 2)))
        snapshots.append(list(records_of(image)))
    for offset, records in enumerate(snapshots):
        observed.is_now(records, offset)
    found = sorted(map(repr, records_of(observed.cluster.image)))
    assert found == sorted(map(repr, snapshots[-1]))
