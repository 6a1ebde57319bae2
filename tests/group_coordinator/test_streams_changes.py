"""Changes of streams groups: what a request says of a member, and new targets."""

from __future__ import annotations

from kafkalite.group_coordinator import streams_records
from kafkalite.group_coordinator.streams_changes import (
    by_id,
    owned_by,
    targets,
    updated,
)
from kafkalite.group_coordinator.streams_group import StreamsGroup
from kafkalite.group_coordinator.streams_member import StreamsMember
from kafkalite.group_coordinator.streams_tasks import Tasks
from kafkalite.group_coordinator.streams_topology import (
    ConfiguredSubtopology,
    ConfiguredTopology,
    Status,
    TopologyProblem,
)
from kafkalite.wire.messages.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    TaskIds,
)
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.test_streams_records import MEMBER, TOPOLOGY


def test_what_is_not_mentioned_stays() -> None:
    silent = updated(MEMBER, Context(), StreamsGroupHeartbeatRequest())
    assert (silent.client_id, silent.client_host) == ("client", "/127.0.0.1")
    for name in ("rack_id", "rebalance_timeout_ms", "process_id", "user_endpoint", "client_tags"):
        assert getattr(silent, name) == getattr(MEMBER, name)
    told = updated(
        MEMBER,
        Context(),
        StreamsGroupHeartbeatRequest(
            rack_id="other",
            rebalance_timeout_ms=8,
            process_id="q",
            user_endpoint=Endpoint(host="h", port=1),
            client_tags=[KeyValue(key="a", value="b")],
        ),
    )
    assert (told.rack_id, told.rebalance_timeout_ms, told.process_id) == ("other", 8, "q")
    assert (told.user_endpoint, told.client_tags) == (("h", 1), {"a": "b"})


def test_what_it_has() -> None:
    assert owned_by(StreamsGroupHeartbeatRequest()) is None
    said = StreamsGroupHeartbeatRequest(
        active_tasks=[TaskIds(subtopology_id="0", partitions=[1])], standby_tasks=[]
    )
    assert owned_by(said) == Tasks({"0": frozenset({1})})


def test_targets() -> None:
    group = StreamsGroup("app")
    for name in "ab":
        member = StreamsMember(member_id=name, process_id=name)
        group.apply(*streams_records.member("app", member))
    subtopology = ConfiguredSubtopology(4, frozenset({"orders"}), {}, frozenset(), {})
    ready = ConfiguredTopology(0, {"0": subtopology})
    given = targets(group, ready)
    assert sorted(len(target.active["0"]) for target in given.values()) == [2, 2]
    problem = TopologyProblem(Status.MISSING_INTERNAL_TOPICS, "")
    assert targets(group, ConfiguredTopology(0, {"0": subtopology}, {}, problem)) == {
        "a": Tasks(),
        "b": Tasks(),
    }
    assert list(by_id(TOPOLOGY)) == ["0"]
