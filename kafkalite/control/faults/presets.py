"""Ready-made faults by the names people use for them: functions that give rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

from kafkalite.control.conversion import converted
from kafkalite.control.faults.rule import Action, Rule, When
from kafkalite.control.problems import Problem

_COORDINATOR_APIS: Final = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "OffsetFetch",
    "OffsetCommit",
    "ConsumerGroupHeartbeat",
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A function that makes rules of its parameters."""

    make: Callable[..., list[Rule]]

    @property
    def doc(self) -> str:
        """One sentence: what happens."""
        return inspect.cleandoc(self.make.__doc__ or "").splitlines()[0]

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return list(inspect.signature(self.make).parameters)

    @property
    def required(self) -> list[str]:
        """The names of the parameters that have no default."""
        parameters = inspect.signature(self.make).parameters.values()
        return [each.name for each in parameters if each.default is each.empty]

    def rules(self, given: Mapping[str, Any]) -> list[Rule]:
        """The rules for these parameters, whose numbers may be text. Raises Problem."""
        for name in [*self.required, *given]:
            if name not in given or name not in self.parameters:
                raise Problem(
                    "invalid_preset",
                    f"{self.make.__name__} {'needs' if name not in given else 'has no'} {name}",
                    value=name,
                    hint=f"its parameters are {', '.join(self.parameters)}",
                )
        types = get_type_hints(self.make)
        return self.make(
            **{name: converted(value, types[name], strict=False) for name, value in given.items()}
        )


def lost_ack(topic: str = "*", times: int | None = 1) -> list[Rule]:
    """A Produce is written, and its connection closed before the answer."""
    when = When(api="Produce", topic=topic)
    return [Rule(note="lost_ack", when=when, times=times, do=(Action(drop="after"),))]


def eos_commit_gap(transactional_id: str = "*") -> list[Rule]:
    """A transaction is ended, and its producer never hears of it."""
    when = When(api="EndTxn", transactional_id=transactional_id)
    return [Rule(note="eos_commit_gap", when=when, do=(Action(silence="after"),))]


def blackhole_client(client_id: str, lasting: str | None = None) -> list[Rule]:
    """Nothing that a client sends is answered any more."""
    return [
        Rule(
            note="blackhole_client",
            when=When(client_id=client_id),
            times=None,
            lasting=lasting,
            do=(Action(silence="before"),),
        )
    ]


def slow_broker(by: str, node: int | None = None) -> list[Rule]:
    """Every request waits."""
    when = When(node=node)
    return [Rule(note="slow_broker", when=when, times=None, do=(Action(delay=by),))]


def leader_election(topic: str, times: int = 3) -> list[Rule]:
    """Other replicas come to lead a topic, and its leaders are elsewhere, so many times.

    The next replicas in sync lead from the first request on; where there is no other, the
    leader stays.
    """
    elsewhere = Action(error="NOT_LEADER_OR_FOLLOWER")
    election = Action(run="topics.lead", arguments={"topic": topic})
    turns = ((election, elsewhere), *(((elsewhere,),) * (times - 1)))
    when = When(api=["Produce", "Fetch"], topic=topic)
    return [Rule(note="leader_election", when=when, sequence=turns)]


def coordinator_loading(group: str, times: int = 5) -> list[Rule]:
    """The group's coordinator is still loading, so many times."""
    when = When(api=list(_COORDINATOR_APIS), group=group)
    do = (Action(error="COORDINATOR_LOAD_IN_PROGRESS"),)
    return [Rule(note="coordinator_loading", when=when, times=times, do=do)]


def fenced_producer(transactional_id: str, at: int = 1) -> list[Rule]:
    """A transactional producer is fenced at its so-and-so-many-th Produce."""
    when = When(api="Produce", transactional_id=transactional_id)
    fence = Action(run="transactions.fence", arguments={"transaction": transactional_id})
    return [Rule(note="fenced_producer", when=when, skip=at - 1, do=(fence,))]


def duplicates(topic: str, every: int = 1, times: int | None = None) -> list[Rule]:
    """Each batch that is produced is there twice, as after a retry upstream."""
    when = When(api="Produce", topic=topic)
    do = (Action(repeat=2),)
    return [Rule(note="duplicates", when=when, every=every, times=times, do=do)]


def poison_record(topic: str) -> list[Rule]:
    """A record comes damaged, though its checksum is right."""
    when = When(api="Fetch", topic=topic)
    return [Rule(note="poison_record", when=when, do=(Action(corrupt="value"),))]


def stale_metadata(topic: str, leader: int, times: int = 3) -> list[Rule]:
    """Metadata names an old leader."""
    patch = {
        "topics.*.partitions.*.leader_id": leader,
        "topics.*.partitions.*.leader_epoch": 0,
    }
    when = When(api="Metadata", topic=topic)
    return [Rule(note="stale_metadata", when=when, times=times, do=(Action(patch=patch),))]


def throttled(client_id: str, by: str, times: int | None = None) -> list[Rule]:
    """A client is throttled, as over its quota."""
    when = When(api=["Produce", "Fetch"], client_id=client_id)
    return [Rule(note="throttled", when=when, times=times, do=(Action(throttle=by),))]


def rolling_restart(pause: str = "200ms") -> list[Rule]:
    """From the first request on, each node goes and comes back, one after the other."""
    do = (Action(run="nodes.roll", arguments={"pause": pause}, at="beside"),)
    return [Rule(note="rolling_restart", do=do)]


def rebalance_storm(group: str, times: int = 10, every: str = "200ms") -> list[Rule]:
    """A group rebalances again and again, once it has members."""
    arguments = {"group": group, "times": times, "every": every}
    when = When(api=["SyncGroup", *_COORDINATOR_APIS[2:]], group=group)
    do = (Action(run="groups.rebalance", arguments=arguments, at="beside"),)
    return [Rule(note="rebalance_storm", when=when, skip=1, do=do)]


def clock_skew(by: str) -> list[Rule]:
    """From the first request on, what the broker writes is off by so much time."""
    do = (Action(run="clock.skew", arguments={"by": by}),)
    return [Rule(note="clock_skew", do=do)]


def disk_full(topic: str = "*", times: int | None = None) -> list[Rule]:
    """Nothing can be written to a topic, until the fault is removed."""
    do = (Action(errno="ENOSPC"),)
    when = When(disk="write", topic=topic)
    return [Rule(note="disk_full", when=when, times=times, do=do)]


def acks_to_minority(topic: str, times: int | None = 1) -> list[Rule]:
    """A batch is written by the leader, and too few replicas follow."""
    do = (Action(error="NOT_ENOUGH_REPLICAS_AFTER_APPEND", apply=True),)
    when = When(api="Produce", topic=topic)
    return [Rule(note="acks_to_minority", when=when, times=times, do=do)]


PRESETS: Final[dict[str, Preset]] = {
    make.__name__: Preset(make)
    for make in (
        lost_ack,
        eos_commit_gap,
        blackhole_client,
        slow_broker,
        leader_election,
        coordinator_loading,
        fenced_producer,
        duplicates,
        poison_record,
        stale_metadata,
        throttled,
        acks_to_minority,
        rolling_restart,
        rebalance_storm,
        clock_skew,
        disk_full,
    )
}


def preset(name: str, **parameters: Any) -> list[Rule]:
    """The rules of a preset. Raises KeyError and TypeError."""
    return PRESETS[name].make(**parameters)
