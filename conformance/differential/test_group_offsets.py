"""OffsetCommit, OffsetFetch, OffsetDelete."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import describe, join, kept, listed, sync
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

COMMIT_VERSIONS = range(2, 11)
FETCH_VERSIONS = range(1, 11)


def committing(
    version: int, group: str, topic: str, *partitions: int, **options: Any
) -> Callable[[Side], OffsetCommitRequest]:
    """Offset 10 for partition 0, 11 for partition 1, and so on."""
    metadata = options.pop("metadata", "text ü")
    name = options.pop("member", None)

    def make(side: Side) -> OffsetCommitRequest:
        known = {"topic_id": side.topic_id(topic)} if version >= 10 else {"name": topic}
        asked = [
            OffsetCommitRequestPartition(
                partition_index=i,
                committed_offset=10 + i,
                committed_leader_epoch=i,
                committed_metadata=metadata,
            )
            for i in partitions
        ]
        if name:
            options["member_id"] = kept(side, name)
        return OffsetCommitRequest(
            group_id=group,
            topics=[OffsetCommitRequestTopic(partitions=asked, **known)],
            **options,
        )

    return make


def fetching(
    version: int, group: str, topic: str | None, *partitions: int, **options: Any
) -> Callable[[Side], OffsetFetchRequest]:
    """The offsets of the partitions; of everything when there is no topic."""
    indexes = list(partitions)

    def make(side: Side) -> OffsetFetchRequest:
        if version < 8:
            topics = topic and [OffsetFetchRequestTopic(name=topic, partition_indexes=indexes)]
            return OffsetFetchRequest(group_id=group, topics=topics or None, **options)
        known: dict[str, Any] = {}
        if topic:
            known = {"topic_id": side.topic_id(topic)} if version >= 10 else {"name": topic}
        of_group = [OffsetFetchRequestTopics(partition_indexes=indexes, **known)]
        asked = OffsetFetchRequestGroup(group_id=group, topics=of_group if topic else None)
        return OffsetFetchRequest(groups=[asked], **options)

    return make


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_committing_without_being_a_member(
    pair: Pair, topic: str, group: str, version: int
) -> None:
    pair.create_topic(topic, 2)
    pair.ask(ApiKey.OFFSET_COMMIT, version, committing(version, group, topic, 0, 1))
    for of in FETCH_VERSIONS:
        pair.ask(ApiKey.OFFSET_FETCH, of, fetching(of, group, topic, 0, 1, 2))
        if of >= 2:
            pair.ask(ApiKey.OFFSET_FETCH, of, fetching(of, group, None))


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_what_cannot_be_committed(pair: Pair, topic: str, group: str, version: int) -> None:
    pair.create_topic(topic)
    for request in (
        committing(version, group, topic, 0, 5),
        committing(version, group, topic, -1),
        committing(version, group, topic),
        committing(version, group, topic, 0, metadata="x" * 4097),
        committing(version, group, topic, 0, metadata=None),
        committing(version, group, topic, 0, metadata=""),
        committing(version, "", topic, 0),
        committing(version, group, topic, 0, generation_id_or_member_epoch=3, member_id="x"),
        committing(version, group, topic, 0, 5, generation_id_or_member_epoch=3, member_id="x"),
        committing(version, f"{group}-2", topic, 0, generation_id_or_member_epoch=3),
        committing(version, f"{group}-3", topic, 0, member_id="x"),
        OffsetCommitRequest(group_id=group, topics=[]),
    ):
        pair.ask(ApiKey.OFFSET_COMMIT, version, request)
    if version < 10:
        unknown = committing(version, group, f"{topic}-unknown", 0)
    else:
        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        unknown = OffsetCommitRequest(
            group_id=group,
            topics=[OffsetCommitRequestTopic(topic_id=UUID(int=99), partitions=[part])],
        )
    pair.ask(ApiKey.OFFSET_COMMIT, version, unknown)


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_committing_as_a_member(pair: Pair, topic: str, group: str, version: int) -> None:
    pair.create_topic(topic)
    generation = join(pair, group, 9).generation_id

    def commit(in_generation: int, **options: Any) -> None:
        request = committing(
            version, group, topic, 0, generation_id_or_member_epoch=in_generation, **options
        )
        pair.ask(ApiKey.OFFSET_COMMIT, version, request)

    for _ in range(2):  # before and after its assignment came
        commit(generation, member="a")
        commit(generation + 1, member="a")
        commit(generation - 1, member="a")
        commit(generation, member_id="somebody else")
        commit(-1)
        if version >= 7:
            commit(generation, member="a", group_instance_id="one")
        sync(pair, group, 4, generation, to={"a": b"x"})
    pair.ask(ApiKey.OFFSET_FETCH, 7, fetching(7, group, None))


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_what_was_never_committed(pair: Pair, topic: str, group: str, version: int) -> None:
    pair.create_topic(topic)
    for request in (
        fetching(version, group, topic, 0, 1, -1),
        fetching(version, group, topic),
        fetching(version, "", topic, 0),
        fetching(version, group, topic, 0, require_stable=version >= 7),
    ):
        pair.ask(ApiKey.OFFSET_FETCH, version, request)
    if version < 10:
        pair.ask(ApiKey.OFFSET_FETCH, version, fetching(version, group, f"{topic}-unknown", 0))
    else:
        unknown = OffsetFetchRequestTopics(topic_id=UUID(int=99), partition_indexes=[0])
        of_group = OffsetFetchRequestGroup(group_id=group, topics=[unknown])
        pair.ask(ApiKey.OFFSET_FETCH, version, OffsetFetchRequest(groups=[of_group]))
    if version >= 2:
        pair.ask(ApiKey.OFFSET_FETCH, version, fetching(version, group, None))


@pytest.mark.parametrize("version", range(8, 11))
def test_several_groups_at_once(pair: Pair, topic: str, group: str, version: int) -> None:
    pair.create_topic(topic)
    pair.ask(ApiKey.OFFSET_COMMIT, 9, committing(9, group, topic, 0))
    groups = [
        OffsetFetchRequestGroup(group_id=name, topics=None) for name in (group, f"{group}-2", group)
    ]
    pair.ask(ApiKey.OFFSET_FETCH, version, OffsetFetchRequest(groups=groups))
    pair.ask(ApiKey.OFFSET_FETCH, version, OffsetFetchRequest(groups=[]))


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_a_group_of_whose_offsets_none_is_kept(
    pair: Pair, topic: str, group: str, version: int
) -> None:
    """It is there all the same: a generation is then not unknown, but nobody is in it.

    Who only looks sees it once something else is written to its partition.
    """
    pair.create_topic(topic)
    too_long = committing(version, group, topic, 0, metadata="x" * 4097)
    pair.ask(ApiKey.OFFSET_COMMIT, version, too_long)
    describe(pair, group)
    of_nobody = committing(version, group, topic, 0, generation_id_or_member_epoch=0)
    answer, _ = pair.ask(ApiKey.OFFSET_COMMIT, version, of_nobody)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    listed(pair, group, topic)  # having written something else
    describe(pair, group)


@pytest.mark.parametrize("version", COMMIT_VERSIONS)
def test_partitions_that_are_not_there_make_no_group(
    pair: Pair, topic: str, group: str, version: int
) -> None:
    pair.create_topic(topic)
    pair.ask(ApiKey.OFFSET_COMMIT, version, committing(version, group, topic, 7))
    of_nobody = committing(version, group, topic, 0, generation_id_or_member_epoch=0)
    pair.ask(ApiKey.OFFSET_COMMIT, version, of_nobody)
