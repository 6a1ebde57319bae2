"""A story told to both brokers: request by request, and what they answer compared."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.generated_requests.references import Member, Memory, resolved
from conformance.differential.generated_requests.requests import Step
from conformance.differential.group_requests import OFFSETS_PARTITIONS, offset_commit
from conformance.differential.normalize import error_codes
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.messages.sync_group import SyncGroupRequest

TOPICS = {"t0": 2, "t1": 1, "t2": 1, "t3": 0, "t.4": 0, "t_4": 0}
TRANSACTIONAL_IDS = ("x0", "x1")
# Answered by the controller, and true on the nodes a moment later.
CHANGES = {
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.ELECT_LEADERS,
}
TOPIC_CHANGES = {ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS}
# A coordinator loads, or a transaction's markers are on their way: clients ask again.
HEARTBEATS: dict[ApiKey, tuple[int, Callable[..., Any]]] = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, ConsumerGroupHeartbeatRequest),
    ApiKey.SHARE_GROUP_HEARTBEAT: (1, ShareGroupHeartbeatRequest),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (0, StreamsGroupHeartbeatRequest),
}
LEAVES = -1
NOT_YET = {14, 15, 16, 51}
RETRY_SECONDS = 3.0
TIMER_SECONDS = 1.0
PARKS = {ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP}
WAKES = PARKS | {
    ApiKey.LEAVE_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_COMMIT,
}
# Records are so old that their times cannot be taken for the broker's.
RECORDS_AGE_MS = 600_000
# Both must have been silent for so long at the end of a story; a later answer is noticed at a next
# step.
QUIET_SECONDS = 0.05


class World:
    """The topics, groups and transactional ids of one story."""

    def __init__(self, pair: Pair, prefix: str) -> None:
        self.pair, self.prefix = pair, prefix
        now_ms = int(time.time() * 1000) - RECORDS_AGE_MS
        self.memories = {
            side: Memory(prefix, side.names.log_directory, now_ms) for side in pair.sides
        }
        self.parked: dict[str, Step] = {}
        self.told: list[str] = []

    def open(self) -> None:
        for side in self.pair.sides:
            side.forget()
            side.names.prefix = self.prefix
            side.names.own_times_after_ms = self.memories[side].now_ms + RECORDS_AGE_MS // 2
            topics = [
                CreatableTopic(name=self.prefix + name, num_partitions=count, replication_factor=1)
                for name, count in TOPICS.items()
                if count
            ]
            request = CreateTopicsRequest(topics=topics, timeout_ms=30_000)
            side.send(ApiKey.CREATE_TOPICS, 7, request, "own")
        for side in self.pair.sides:
            assert error_codes(side.receive(ApiKey.CREATE_TOPICS, 7, "own")) == {0}
        self.settle_topics()

    def close(self) -> None:
        self.leave()
        for side in self.pair.sides:
            side.names.prefix = ""
            names = [self.prefix + name for name in TOPICS]
            request = DeleteTopicsRequest(topic_names=names, timeout_ms=30_000)
            side.send(ApiKey.DELETE_TOPICS, 5, request, "own")
        for side in self.pair.sides:
            side.receive(ApiKey.DELETE_TOPICS, 5, "own")
            side.names.topic_ids.clear()

    def leave(self) -> None:
        """The members leave. Else their sessions end in the middle of later stories, in each broker
        at another time; and some things are seen with the next record of any group
        (streams_api)."""
        for side in self.pair.sides:
            for (group, member_id), api in self.memories[side].heartbeats.items():
                version, request = HEARTBEATS[api]
                leaving = request(group_id=group, member_id=member_id, member_epoch=LEAVES)
                side.ask(api, version, leaving, "own")

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        try:
            for step in story:
                self.told.append(repr(step))
                self.take(step)
            self.see_who_woke(QUIET_SECONDS)
        except Difference as difference:
            told = "\n".join(self.told).replace(self.prefix, "")
            raise Difference(f"{difference}\nafter\n{told}", difference.where) from None

    def take(self, step: Step) -> None:
        connection = self.connection_of(step)
        if connection in self.parked:
            self.told.pop()
            return
        if step.api is ApiKey.PRODUCE and step.body.acks == 0:
            self.produce_unanswered(step)
            return
        for side in self.pair.sides:
            self.send(side, step, connection)
        if step.api in PARKS:
            self.parked[connection] = step
            self.pass_by(step.body.group_id)
        else:
            self.compare(step, [self.answer(side, step, connection) for side in self.pair.sides])
        if step.api in WAKES and self.parked:
            self.see_who_woke()

    def pass_by(self, group: Any) -> None:
        """Ask the group's coordinator something, so that it has seen what was asked before.

        A SyncGroup of a stranger changes nothing and takes the way of a JoinGroup. In Apache Kafka
        that is behind all that is being written, as there is one thread for each way
        (conftest.py). In kafkalite it is a task of its own. The first rebalance of a group ends by
        a timer in Apache Kafka, also without a delay: it is waited for, unless the states differ
        for good, which the next request about the group shows.
        """
        for side in reversed(self.pair.sides):
            name = resolved(group, self.memories[side])
            request = SyncGroupRequest(group_id=name, member_id="a stranger", generation_id=0)
            side.ask(ApiKey.SYNC_GROUP, 4, request, "own")
        deadline = time.monotonic() + TIMER_SECONDS
        while len({self.state_of(side, group) for side in self.pair.sides}) > 1:
            if time.monotonic() > deadline:
                return
            time.sleep(0.002)

    def state_of(self, side: Side, group: Any) -> tuple[int, str]:
        """The error that a description has, and the state of the group."""
        request = DescribeGroupsRequest(groups=[resolved(group, self.memories[side])])
        (described,) = side.ask(ApiKey.DESCRIBE_GROUPS, 5, request, "own").groups
        return described.error_code, described.group_state

    def connection_of(self, step: Step) -> str:
        """A request that may have to wait has a connection of its own."""
        if step.api not in PARKS:
            return "main"
        member = step.body.member_id
        return f"{step.body.group_id} {member}"

    def send(self, side: Side, step: Step, connection: str) -> None:
        # to be accepted takes its own time
        if step.api in PARKS and connection not in side.connections:
            side.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest(), connection)
        side.send(step.api, step.version, resolved(step.body, self.memories[side]), connection)

    def answer(self, side: Side, step: Step, connection: str) -> Any:
        """The answer, asked again for as long as it is "not yet"."""
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            answer = self.received(side, step, connection)
            if not error_codes(answer) & NOT_YET or time.monotonic() > deadline:
                return answer
            time.sleep(0.002)
            self.send(side, step, connection)

    def produce_unanswered(self, step: Step) -> None:
        """With acks 0 only a closed connection says anything: seen by asking something else."""
        answers = []
        for side in self.pair.sides:
            self.send(side, step, "main")
            side.send(ApiKey.METADATA, 12, MetadataRequest(topics=[]), "main")
        for side in self.pair.sides:
            answers.append(side.receive(ApiKey.METADATA, 12, "main"))
        self.pair.compare("after acks 0", *answers, api=step.api, version=step.version)

    def see_who_woke(self, quiet_seconds: float = 0.0) -> None:
        """Compare what came for those who waited: it comes for the same ones on both sides."""
        while awake := self.awake(quiet_seconds):
            for connection in awake:
                step = self.parked.pop(connection)
                self.compare(
                    step, [self.received(side, step, connection) for side in self.pair.sides]
                )

    def awake(self, quiet_seconds: float) -> list[str]:
        """The connections among those that wait on which one side or the other has answered."""
        sockets = {
            side.connections[connection].socket: connection
            for connection in self.parked
            for side in self.pair.sides
        }
        if not sockets:
            return []
        ready, _, _ = select.select(list(sockets), [], [], quiet_seconds)
        return list(dict.fromkeys(sockets[socket] for socket in ready))

    def received(self, side: Side, step: Step, connection: str) -> Any:
        """The answer. Raises Difference when there is none."""
        try:
            return side.receive(step.api, step.version, connection)
        except TimeoutError:
            what = f"{step.api.name} v{step.version}"
            raise Difference(f"{side.broker.kind} never answered {step}", what) from None

    def compare(self, step: Step, answers: list[Any]) -> None:
        for side, answer in zip(self.pair.sides, answers, strict=True):
            self.learn(side, step, answer)
        what = f"{step.api.name} v{step.version}"
        self.pair.compare(what, *answers, api=step.api, version=step.version)
        if answers[0] is not None:
            self.settle(step, answers[0])

    def settle(self, step: Step, answer: Any) -> None:
        """Wait for what becomes true only after the answer."""
        if step.api in CHANGES and not getattr(step.body, "validate_only", False):
            if step.api in TOPIC_CHANGES:
                self.settle_topics()
            else:
                self.pair.settle()
        elif step.api is ApiKey.METADATA and 3 in error_codes(answer):
            if step.version < 4 or step.body.allow_auto_topic_creation:
                self.wait_for_made_topics(answer)
        elif step.api in (ApiKey.END_TXN, ApiKey.INIT_PRODUCER_ID):
            self.settle_transactions()
        elif step.api is ApiKey.JOIN_GROUP and ErrorCode.UNKNOWN_MEMBER_ID in error_codes(answer):
            self.write_beside(step.body.group_id)

    def write_beside(self, group: Any) -> None:
        """Have each partition of offsets write, that of the group too.

        A member that joins an empty consumer group by an id ends it, and nothing is written.
        Readers of Apache Kafka see that from the partition's next write on.
        """
        for side in self.pair.sides:
            name = resolved(group, self.memories[side])
            for number in range(OFFSETS_PARTITIONS):
                request = offset_commit(f"{name}-{number}", "__consumer_offsets")
                side.ask(ApiKey.OFFSET_COMMIT, 8, request, "own")

    def settle_topics(self) -> None:
        self.pair.settle()
        for side in self.pair.sides:
            memory = self.memories[side]
            names = [self.prefix + name for name in TOPICS]
            topics = [MetadataRequestTopic(name=name) for name in names]
            request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
            for topic in side.ask(ApiKey.METADATA, 12, request, "own").topics:
                before = memory.topic_ids.pop(topic.name, None)
                if topic.error_code == 0:
                    memory.topic_ids[topic.name] = topic.topic_id
                    side.names.topic_ids[topic.topic_id] = f"id of {topic.name}"
                if before and before != topic.topic_id:
                    memory.old_topic_ids[topic.name] = before
                    side.names.topic_ids[before] = f"old id of {topic.name}"

    def wait_for_made_topics(self, answer: Any) -> None:
        """Metadata makes topics after it has answered that they are not there."""
        names = [topic.name for topic in answer.topics if topic.error_code == 3]
        for side in self.pair.sides:
            for name in names:
                topics = [MetadataRequestTopic(name=name)]
                request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
                side.until_no_error(ApiKey.METADATA, 12, request)
        self.settle_topics()

    def settle_transactions(self) -> None:
        """Wait until no markers are on their way."""
        ids = [self.prefix + name for name in TRANSACTIONAL_IDS]
        request = DescribeTransactionsRequest(transactional_ids=ids)
        for side in self.pair.sides:
            side.until(
                ApiKey.DESCRIBE_TRANSACTIONS,
                0,
                request,
                lambda answer: (
                    not any(
                        state.transaction_state.startswith("Prepare") or state.error_code in NOT_YET
                        for state in answer.transaction_states
                    )
                ),
            )

    def learn(self, side: Side, step: Step, answer: Any) -> None:
        """Keep what the side calls its members, producers and sessions."""
        if answer is None:
            return
        memory, request = self.memories[side], step.body
        if step.api is ApiKey.INIT_PRODUCER_ID or (step.api is ApiKey.END_TXN and step.version > 4):
            if answer.error_code == 0 and answer.producer_id >= 0:
                key = resolved(request.transactional_id, memory)
                memory.producers[key] = answer.producer_id, answer.producer_epoch
        elif step.api is ApiKey.JOIN_GROUP or step.api in HEARTBEATS:
            learn_member(memory, step.api, request, answer)
        elif step.api is ApiKey.GET_TELEMETRY_SUBSCRIPTIONS and answer.error_code == 0:
            memory.subscription_ids[answer.client_instance_id] = answer.subscription_id
        elif step.api is ApiKey.FETCH and answer.session_id:
            session_id, epoch = memory.sessions.get("s", (0, 0))
            if answer.session_id != session_id:
                memory.sessions["s"] = answer.session_id, 1
            elif answer.error_code == 0 and request.session_epoch not in (0, -1):
                memory.sessions["s"] = session_id, epoch + 1


def learn_member(memory: Memory, api: ApiKey, request: Any, answer: Any) -> None:
    group = resolved(request.group_id, memory)
    if isinstance(request.member_id, Member) and answer.member_id:
        memory.members[group, request.member_id.slot] = answer.member_id
    if answer.error_code == 0:
        if hasattr(answer, "generation_id"):
            memory.generations[group] = answer.generation_id
        else:
            memory.member_epochs[group, answer.member_id] = max(0, answer.member_epoch)
            memory.heartbeats[group, answer.member_id] = api
