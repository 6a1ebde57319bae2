"""Stories about a streams group: three members join, take and give back tasks, commit, and leave.

Their tasks have state or not, and with state standbys. A story is told step by step. Left out is
all that Apache Kafka does by and by: topics of states are there, or nobody makes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from conformance.differential import streams_requests
from conformance.differential.generated_requests.streams_surroundings import (
    FOREIGN,
    SOURCES,
    TOPICS,
    DeleteTopic,
    Foreign,
    Grow,
)
from conformance.differential.generated_requests.streams_world import (
    LEAVES,
    MEMBERS,
    PARTITIONS,
    ROLES,
    Step,
    Streams,
    Worker,
)
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.share_requests import configure
from kafkalite.wire.messages.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
    TaskIds,
    TaskOffset,
)


@dataclass(frozen=True)
class HaveState(Step):
    """The tasks of those who join from now on have state."""

    def tell(self, streams: Streams) -> None:
        streams.is_stateful = True


@dataclass(frozen=True)
class Join(Step):
    member: str
    which: int
    process: str
    has_endpoint: bool
    tags: tuple[str, ...] = ()
    others: tuple[tuple[str, Any], ...] = ()

    def tell(self, streams: Streams) -> None:
        worker = streams.workers[self.member]
        endpoint = Endpoint(host=self.member, port=1) if self.has_endpoint else None
        answer = streams_requests.join(
            streams.pair,
            streams.name,
            self.member,
            streams.topology(self.which),
            client_tags=[KeyValue(key=each, value=self.process) for each in self.tags],
            **streams.told(
                {"process_id": self.process, "user_endpoint": endpoint, **dict(self.others)}
            ),
        )
        worker.learn(answer)


@dataclass(frozen=True)
class Beat(Step):
    """A heartbeat, with the tasks that the member says it has, or without a word about them."""

    member: str
    later: int
    owned: str
    endpoints_known: int
    is_shutdown: bool
    others: tuple[tuple[str, Any], ...] = ()

    def tell(self, streams: Streams) -> None:
        worker = streams.workers[self.member]
        epoch = worker.epoch + self.later
        answer = streams_requests.beat(
            streams.pair,
            streams.name,
            self.member,
            member_epoch=epoch,
            endpoint_information_epoch=self.endpoints_known,
            shutdown_application=self.is_shutdown,
            **self.tasks(worker) | streams.told(dict(self.others)),
        )
        worker.learn(answer)

    def tasks(self, worker: Worker) -> dict[str, list[TaskIds]]:
        """The tasks of each role, as the request names them."""
        match self.owned:
            case "untold":
                return {}
            case "none":
                return {key: [] for key in ROLES}
            case "fewer":
                return worker.tasks | {"active_tasks": fewer(worker.tasks["active_tasks"])}
            case "no standbys":
                return worker.tasks | {"standby_tasks": []}
            case _:
                return dict(worker.tasks)


def fewer(tasks: Iterable[TaskIds]) -> list[TaskIds]:
    """The tasks without the first of each subtopology."""
    left = [TaskIds(each.subtopology_id, each.partitions[1:]) for each in tasks]
    return [each for each in left if each.partitions]


@dataclass(frozen=True)
class Leave(Step):
    member: str

    def tell(self, streams: Streams) -> None:
        streams_requests.beat(streams.pair, streams.name, self.member, member_epoch=LEAVES)
        streams.workers[self.member] = Worker()


@dataclass(frozen=True)
class Describe(Step):
    def tell(self, streams: Streams) -> None:
        streams_requests.describe(streams.pair, streams.name)


@dataclass(frozen=True)
class Commit(Step):
    """An offset, committed and read back."""

    member: str
    later: int
    partition: int

    def tell(self, streams: Streams) -> None:
        pair, group = streams.pair, streams.name
        epoch = streams.workers[self.member].epoch + self.later
        streams_requests.commit(
            pair, group, streams.name, epoch, self.member, version=9, partition=self.partition
        )
        streams_requests.fetch(pair, group, streams.name, self.member, epoch)


@dataclass(frozen=True)
class Configure(Step):
    """A config of the group; null deletes it."""

    name: str
    value: str | None

    def tell(self, streams: Streams) -> None:
        configure(streams.pair, streams.name, **{self.name: self.value})


STANDBYS = "streams.num.standby.replicas"
CONFIGS = of(
    *[(STANDBYS, str(count)) for count in (0, 1, 2)] * 3,
    (STANDBYS, "3"),
    (STANDBYS, None),
    ("streams.heartbeat.interval.ms", "7000"),
    ("streams.heartbeat.interval.ms", None),
    ("streams.session.timeout.ms", "50000"),
    ("streams.session.timeout.ms", "1"),
)
_member = of(*MEMBERS)
_later = often(0, -1, 1, 5, times=8)
_join = st.builds(
    Join,
    member=_member,
    which=of(*[0] * 8, 1, 1, 2, 3, 3, 4, 5, 6),
    process=of("p-1", "p-2", "p-3"),
    has_endpoint=st.booleans(),
    tags=of((), (), ("zone",), ("zone", "rack")),
    others=of(
        *[()] * 12,
        (("rack_id", "r"),),
        (("rack_id", "r"), ("rebalance_timeout_ms", 1000)),
        (("instance_id", "i"),),
        (("rebalance_timeout_ms", 0),),
        (("process_id", ""),),
        (("process_id", None),),
        (("standby_tasks", None),),
        (("active_tasks", [TaskIds("0", [0])]),),
        (("user_endpoint", Endpoint(host="", port=0)),),
    ),
)
_beat = st.builds(
    Beat,
    member=_member,
    later=_later,
    owned=of("all", "all", "all", "untold", "untold", "fewer", "none", "no standbys"),
    endpoints_known=of(0, 0, 1, 2, -1),
    is_shutdown=often(False, True, times=40),
    others=of(
        *[()] * 20,
        (("rack_id", "r"),),
        (("rack_id", ""),),
        (("rebalance_timeout_ms", 1000),),
        (("rebalance_timeout_ms", 0),),
        (("instance_id", "i"),),
        (("process_id", "p-1"),),
        (("process_id", "p-9"),),
        (("user_endpoint", Endpoint(host="elsewhere", port=2)),),
        (("client_tags", []),),
        (("client_tags", [KeyValue(key="zone", value="z")]),),
        (("task_offsets", [TaskOffset("0", 0, 5)]), ("task_end_offsets", [TaskOffset("0", 0, 9)])),
        (("warmup_tasks", [TaskIds("0", [0])]),),
        (("active_tasks", [TaskIds("7", [0])]),),
        (("active_tasks", [TaskIds("0", [99])]),),
    ),
)
_steps = st.lists(
    st.one_of(
        _join,
        _beat,
        _beat,
        _beat,
        st.builds(Describe),
        st.one_of(
            st.builds(Leave, member=_member),
            st.builds(
                Commit, member=_member, later=_later, partition=st.integers(0, PARTITIONS - 1)
            ),
            st.builds(lambda config: Configure(*config), CONFIGS),
            st.one_of(
                st.builds(Grow, TOPICS),
                st.builds(DeleteTopic, SOURCES),
                *[st.builds(Foreign, FOREIGN, _member)] * 3,
            ),
        ),
    ),
    min_size=15,
    max_size=40,
)
# Half of the stories are about tasks with state, of which there are standbys from the start.
STORIES = st.one_of(
    _steps,
    _steps.map(lambda steps: [HaveState(), Configure(STANDBYS, "1"), *steps]),
)
