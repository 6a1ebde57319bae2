"""Groups that are large, and groups that are many."""

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from conformance.harness.broker import Broker
from conformance.harness.members import (
    ClassicMember,
    Requests,
    call_all,
    find_coordinators,
    join_all,
)
from conformance.harness.process import start_process
from conformance.scenarios.groups_of_clients import ROOT
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

MEMBER_COUNT = 200
GROUP_COUNT = 500
SECONDS = 90


@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.long), "consumer"])
def test_two_hundred_consumers_share_two_hundred_partitions(
    broker: Broker,
    admin: AdminClient,
    create_topic: Callable[..., str],
    unique: Callable[[str], str],
    closing: ExitStack,
    protocol: str,
) -> None:
    topic, group_id = create_topic(partitions=MEMBER_COUNT), unique("group")
    where = [broker.bootstrap, topic, group_id, protocol, str(MEMBER_COUNT)]
    members = start_process(
        [sys.executable, "-m", "conformance.scenarios.members_in_one_process", *where],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    closing.callback(end, members)
    assert members.stdout is not None
    assert select.select([members.stdout], [], [], SECONDS)[0], f"not shared in {SECONDS} s"
    assert sorted(json.loads(members.stdout.readline())) == list(range(MEMBER_COUNT))
    described = stable(admin, group_id)
    assert len(described.members) == MEMBER_COUNT
    told = [p.partition for m in described.members for p in m.assignment.topic_partitions]
    assert sorted(told) == list(range(MEMBER_COUNT))


def stable(admin: AdminClient, group_id: str) -> Any:
    """The group as it is described, when its members know its epoch: each hears of it with its next
    heartbeat, though its partitions stay what they are."""
    deadline = time.monotonic() + SECONDS
    while True:
        described = admin.describe_consumer_groups([group_id])[group_id].result(SECONDS)
        if described.state == ConsumerGroupState.STABLE:
            return described
        assert time.monotonic() < deadline, described.state
        time.sleep(0.5)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_five_hundred_groups_at_once(
    broker: Broker,
    create_topic: Callable[..., str],
    unique: Callable[[str], str],
    closing: ExitStack,
) -> None:
    topic, name = create_topic(), unique("group")
    members = [
        ClassicMember(f"{name}-{i}", closing.enter_context(Requests(broker.bootstrap, SECONDS)))
        for i in range(GROUP_COUNT)
    ]
    find_coordinators(members[0].connection, [member.group_id for member in members])
    join_all(members)
    beats = call_all(members, [member.heartbeat_request() for member in members], 4)
    assert {beat.error_code for beat in beats} == {ErrorCode.NONE}
    commits = [commit_request(member, topic, 1000 + i) for i, member in enumerate(members)]
    for committed in call_all(members, commits, 9):
        assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    fetches = [fetch_request(member.group_id, topic) for member in members]
    fetched = [answer.groups[0] for answer in call_all(members, fetches, 9)]
    assert [group.group_id for group in fetched] == [member.group_id for member in members]
    offsets = [group.topics[0].partitions[0].committed_offset for group in fetched]
    assert offsets == list(range(1000, 1000 + GROUP_COUNT))


def commit_request(member: ClassicMember, topic: str, offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    return OffsetCommitRequest(
        group_id=member.group_id,
        generation_id_or_member_epoch=member.generation_id,
        member_id=member.member_id,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )


def fetch_request(group_id: str, topic: str) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=topics)])
