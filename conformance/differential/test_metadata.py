"""Metadata."""

from typing import Any
from uuid import UUID

import pytest

from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

VERSIONS = range(14)
BY_ID = range(12, 14)


def about(*names: str, **options: Any) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, **{"allow_auto_topic_creation": False, **options})


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 3)
    pair.ask(ApiKey.METADATA, version, about(topic))
    pair.ask(
        ApiKey.METADATA,
        version,
        about(
            topic,
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        ),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_no_topics(pair: Pair, version: int) -> None:
    if version > 0:  # in version 0 this means all
        pair.ask(ApiKey.METADATA, version, about())


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 2)
    request = MetadataRequest(topics=[] if version == 0 else None)
    api = ApiKey.METADATA
    reference, tested = (side.ask(api, version, request) for side in pair.sides)
    for answer in (reference, tested):
        answer.topics = [t for t in answer.topics if t.name == topic]
        assert len(answer.topics) == 1
    pair.compare(f"{api.name} v{version}", reference, tested, api=api, version=version)


@pytest.mark.parametrize("version", range(4, 14))
def test_topics_that_are_not_there(pair: Pair, topic: str, version: int) -> None:
    pair.ask(ApiKey.METADATA, version, about(topic))
    pair.ask(ApiKey.METADATA, version, about(topic, topic))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ü", "x" * 250])
def test_names_that_are_no_topic(pair: Pair, version: int, name: str) -> None:
    pair.ask(ApiKey.METADATA, version, about(name))
    pair.ask(ApiKey.METADATA, version, about(name, allow_auto_topic_creation=True))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_made_when_asked_for(pair: Pair, topic: str, version: int) -> None:
    """Both say at first that it is not there, and have it a moment later."""
    request = about(topic, allow_auto_topic_creation=True)
    pair.ask(ApiKey.METADATA, version, request)
    for side in pair.sides:
        side.until_no_error(ApiKey.METADATA, 12, about(topic))
    pair.ask(ApiKey.METADATA, version, request)


@pytest.mark.parametrize("version", BY_ID)
def test_by_id(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 1)

    def known(side: Any) -> MetadataRequest:
        topics = [MetadataRequestTopic(topic_id=side.topic_id(topic), name=None)]
        return MetadataRequest(topics=topics)

    pair.ask(ApiKey.METADATA, version, known)
    unknown = [MetadataRequestTopic(topic_id=UUID(int=12345), name=None)]
    pair.ask(ApiKey.METADATA, version, MetadataRequest(topics=unknown))
    both = [MetadataRequestTopic(topic_id=UUID(int=12345), name=topic)]
    pair.ask(ApiKey.METADATA, version, MetadataRequest(topics=both))
    neither = [MetadataRequestTopic(topic_id=UUID(int=0), name=None)]
    pair.ask(ApiKey.METADATA, version, MetadataRequest(topics=neither))
    for others in (unknown, both):  # where one has an id, names are not looked at
        pair.ask(ApiKey.METADATA, version, MetadataRequest(topics=[*neither, *others]))


@pytest.mark.parametrize("version", range(10, 12))
def test_by_id_too_early(pair: Pair, version: int) -> None:
    for topic in (
        MetadataRequestTopic(topic_id=UUID(int=12345), name=None),
        MetadataRequestTopic(topic_id=UUID(int=0), name=None),
    ):
        pair.ask(ApiKey.METADATA, version, MetadataRequest(topics=[topic]))


def test_internal_topics_are_not_made_for_the_asking(pair: Pair) -> None:
    request = about("__transaction_state", allow_auto_topic_creation=False)
    assert pair.ask(ApiKey.METADATA, 12, request)[1].topics[0].error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    )


@pytest.mark.parametrize("version", [0, 4, 13])
def test_the_topic_of_the_metadata_is_not_made_for_the_asking(pair: Pair, version: int) -> None:
    request = about("__cluster_metadata", allow_auto_topic_creation=True)
    for _ in range(2):
        pair.ask(ApiKey.METADATA, version, request)
        pair.settle()
