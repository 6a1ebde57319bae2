"""Many small requests that look alike: answers per second, and per CPU second of the broker."""

from __future__ import annotations

import uuid
from typing import Any

from conformance.benchmarks.load import Load, answer, request, run
from conformance.benchmarks.sampling import (
    Side,
    ask,
    cpu_seconds,
    create_topic,
    delete_topic,
    produce_request,
    produced,
)
from conformance.harness.broker import Broker
from conformance.harness.members import (
    ClassicMember,
    Requests,
    find_coordinators,
    join_all,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import fetch, list_offsets, metadata, offset_commit

PARTITIONS = 8


class Tiny:
    """One request, again and again, over some connections with some in flight on each."""

    def __init__(
        self, side: Side, *, request: str, connections: int = 1, in_flight: int = 1
    ) -> None:
        self.broker, self.connections, self.in_flight = side.broker, connections, in_flight
        self.seconds = 0.3 if side.quick else 1.2
        self.topic = f"tiny-{uuid.uuid4().hex[:8]}"
        self.topic_id = create_topic(self.broker, self.topic, PARTITIONS)
        produced(self.broker, self.topic, 1)
        self.api_key, self.version, self.body = getattr(self, request)()
        run_once = ask(self.broker.bootstrap, self.api_key, self.version, self.body)
        assert not error_in(run_once), run_once
        self.sample()  # warm

    def produce(self) -> tuple[ApiKey, int, Any]:
        return ApiKey.PRODUCE, 12, produce_request(self.topic)

    def fetch(self) -> tuple[ApiKey, int, Any]:
        partition = fetch.FetchPartition(partition=1, partition_max_bytes=10)
        topic = fetch.FetchTopic(topic=self.topic, topic_id=self.topic_id, partitions=[partition])
        body = fetch.FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=100, topics=[topic])
        return ApiKey.FETCH, 17, body

    def list_offsets(self) -> tuple[ApiKey, int, Any]:
        partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
        topic = list_offsets.ListOffsetsTopic(name=self.topic, partitions=[partition])
        return ApiKey.LIST_OFFSETS, 9, list_offsets.ListOffsetsRequest(topics=[topic])

    def metadata(self) -> tuple[ApiKey, int, Any]:
        topic = metadata.MetadataRequestTopic(name=self.topic)
        return ApiKey.METADATA, 12, metadata.MetadataRequest(topics=[topic])

    def heartbeat(self) -> tuple[ApiKey, int, Any]:
        return ApiKey.HEARTBEAT, 4, joined(self.broker).heartbeat_request()

    def offset_commit(self) -> tuple[ApiKey, int, Any]:
        member = joined(self.broker)
        partition = offset_commit.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=1, committed_metadata=""
        )
        topic = offset_commit.OffsetCommitRequestTopic(name=self.topic, partitions=[partition])
        body = offset_commit.OffsetCommitRequest(
            group_id=member.group_id,
            generation_id_or_member_epoch=member.generation_id,
            member_id=member.member_id,
            topics=[topic],
        )
        return ApiKey.OFFSET_COMMIT, 9, body

    def loaded(self, seconds: float) -> Load:
        """The broker, loaded for some seconds; the last answer has no error."""
        load = run(
            self.broker.bootstrap,
            request(self.api_key, self.version, self.body),
            connections=self.connections,
            in_flight=self.in_flight,
            seconds=seconds,
        )
        answered = answer(self.api_key, self.version, load)
        assert not error_in(answered), answered
        return load

    def sample(self) -> dict[str, float]:
        before = cpu_seconds(self.broker.pid)
        load = self.loaded(self.seconds)
        cpu = max(cpu_seconds(self.broker.pid) - before, 0.01)
        return {"requests/s": load.per_second, "requests per CPU s": load.answer_count / cpu}

    def close(self) -> None:
        delete_topic(self.broker, self.topic)


def joined(broker: Broker) -> PatientMember:
    """The one member of a group of its own, who stays for as long as a round takes."""
    with Requests(broker.bootstrap) as connection:
        member = PatientMember(f"tiny-{uuid.uuid4().hex[:8]}", connection)
        find_coordinators(connection, [member.group_id])
        join_all([member])
    return member


class PatientMember(ClassicMember):
    """A member that is not missed while another broker has its turn."""

    def join_request(self) -> Any:
        asked = super().join_request()
        asked.session_timeout_ms = 1_800_000
        return asked


def error_in(message: Any) -> bool:
    """True if any error code in an answer is not NONE."""
    if isinstance(message, list):
        return any(error_in(each) for each in message)
    names = getattr(type(message), "__dataclass_fields__", ())
    if any("error_code" in name and getattr(message, name) != ErrorCode.NONE for name in names):
        return True
    return any(error_in(getattr(message, name)) for name in names)
