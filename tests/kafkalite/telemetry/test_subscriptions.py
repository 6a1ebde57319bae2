"""The metrics asked of a client, by all subscriptions that match it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.cluster.image import MetadataImage
from kafkalite.requests.slices import at_once
from kafkalite.telemetry.client_instances import subscription_id
from kafkalite.telemetry.subscriptions import Subscriptions, Wanted
from kafkalite.wire.api_keys import CLIENT_METRICS_RESOURCE, TOPIC_RESOURCE
from kafkalite.wire.messages.stored.config_record import ConfigRecord

ONE = UUID("01234567-89ab-4def-8123-456789abcdef")
OTHER = UUID("fedcba98-7654-4210-9edc-ba9876543210")
CLIENT = {"client_id": "c", "client_software_name": "librdkafka"}


class Cluster:
    """An image that changes."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self._subscribers: list[Any] = []
        self.subscriptions = Subscriptions(self)

    def subscribe(self, subscriber: Any) -> None:
        self._subscribers.append(subscriber)

    def apply(self, *records: object) -> None:
        for record in records:
            self.image.apply(record)
        for subscriber in self._subscribers:
            subscriber(records)

    def set(self, name: str, **configs: str | None) -> None:
        self.apply(
            *(
                ConfigRecord(
                    resource_type=CLIENT_METRICS_RESOURCE,
                    resource_name=name,
                    name=key.replace("_", "."),
                    value=value,
                )
                for key, value in configs.items()
            )
        )

    @property
    def wanted(self) -> Wanted:
        return at_once(self.subscriptions.finding_wanted(CLIENT))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_nothing_is_asked_without_subscriptions(cluster: Cluster) -> None:
    assert cluster.wanted == Wanted([], 300_000, 0)


def test_those_that_match_are_put_together(cluster: Cluster) -> None:
    cluster.set("one", metrics="a,b", interval_ms="20000")
    cluster.set("two", metrics="b,c", interval_ms="10000", match="client_id=c")
    cluster.set("three", metrics="d", interval_ms="100", match="client_id=d")
    wanted = cluster.wanted
    assert set(wanted.metrics) == {"a", "b", "c"}
    assert len(wanted.metrics) == 3
    assert wanted.interval_ms == 10_000


def test_no_client_pushes_more_rarely_than_by_default(cluster: Cluster) -> None:
    cluster.set("one", metrics="a", interval_ms="3600000")
    assert cluster.wanted.interval_ms == 300_000


def test_clients_that_are_asked_for_the_same_share_it(cluster: Cluster) -> None:
    cluster.set("one", metrics="a", match="client_id=c.*")
    cluster.set("two", metrics="b", match="client_id=d")

    def wanted(client_id: str) -> Wanted:
        return at_once(cluster.subscriptions.finding_wanted(CLIENT | {"client_id": client_id}))

    first = wanted("c1")
    assert wanted("c2") is first
    assert wanted("d").metrics == ["b"]
    for number in range(20):
        cluster.set(f"s{number}", metrics="c", match=f"client_id=e{number}")
    assert first.version < wanted("c1").version
    for number in range(20):
        assert wanted(f"e{number}").metrics == ["c"]
    assert len(cluster.subscriptions._wanted) <= 16


def test_what_changes_while_it_is_looked_for_is_not_kept(cluster: Cluster) -> None:
    cluster.set("one", metrics="a")
    looking = cluster.subscriptions.finding_wanted(CLIENT)
    next(looking)
    cluster.set("one", metrics="b")
    assert at_once(looking).version < cluster.wanted.version
    assert cluster.wanted.metrics == ["b"]


def test_all_metrics_stand_for_the_others(cluster: Cluster) -> None:
    cluster.set("one", metrics="a")
    cluster.set("two", metrics="b,*")
    assert cluster.wanted.metrics == ["*"]


def test_a_change_counts_at_once_and_a_removed_subscription_is_gone(cluster: Cluster) -> None:
    cluster.set("one", metrics="a", interval_ms="1000")
    first = cluster.wanted
    cluster.set("one", metrics="b")
    second = cluster.wanted
    assert second.metrics == ["b"]
    assert second.version > first.version
    cluster.set("one", metrics=None, interval_ms=None)
    assert cluster.wanted.metrics == []
    assert cluster.wanted.version > second.version


def test_configs_of_other_resources_change_nothing(cluster: Cluster) -> None:
    cluster.apply(
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name="t", name="a", value="b")
    )
    assert cluster.wanted == Wanted([], 300_000, 0)


@pytest.mark.parametrize(
    ("metrics", "interval_ms", "instance_id", "expected"),
    [
        ([], 300_000, ONE, 1422384094),
        ([], 300_000, OTHER, -1262015522),
        (["*"], 100, ONE, -1247904607),
        (["*"], 100, OTHER, 1436454049),
        (["org.apache.kafka.producer.", "Aa", "BB", "zz", "b"], 300_000, ONE, 163440528),
    ],
)
def test_subscription_ids(
    metrics: list[str], interval_ms: int, instance_id: UUID, expected: int
) -> None:
    """Ids as Apache Kafka 4.3.1 gave them."""
    assert subscription_id(instance_id, Wanted(metrics, interval_ms, 0)) == expected
