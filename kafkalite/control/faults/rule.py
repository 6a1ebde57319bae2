"""A fault rule, as it is written: when it matches, which matches count, what is done then.

    {"when": {"api": "EndTxn", "transactional_id": "billing-*"}, "skip": 1, "times": 1,
     "do": [{"silence": "after"}]}

These are values. matching.py says what `when` means, book.py counts, gate.py does the
actions.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from kafkalite.control.durations import seconds
from kafkalite.control.problems import Problem
from kafkalite.wire.errors import ErrorCode

# A value, a list of them, "glob*", {"re": ...}, {"min": ..., "max": ...} or {"not": ...}.
Match = Annotated[
    Any,
    Meta(
        description="a value, a list (any of them), a glob such as 'orders-*', "
        "{'re': ...}, {'min': ..., 'max': ...} or {'not': ...}"
    ),
]
Duration = Annotated[str, Meta(description="a duration: '250ms', '46s', '5m', '2h', '7d'")]
Moment = Literal["before", "after"]


class RecordMatch(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record of a Produce request; batches are decompressed for it, which takes its time."""

    key: Match = None
    value_contains: str | None = None
    header: dict[str, Match] = {}


class When(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The criteria of a rule. All that are given must hold.

    With `disk` (read, write, sync, open, rename) it is for operations on files, of which it can
    name the path (`file`), topic and partition. `client_software` is the name and version that the
    client gave in ApiVersions: "apache-kafka-java/4.3.1".
    """

    api: Match = None
    version: Match = None
    client_id: Match = None
    client_software: Match = None
    client_host: Match = None
    principal: Match = None
    node: Match = None
    listener: Match = None
    connection: Match = None
    topic: Match = None
    partition: Match = None
    group: Match = None
    member_id: Match = None
    group_instance_id: Match = None
    transactional_id: Match = None
    producer_id: Match = None
    request: dict[str, Match] = {}
    records: RecordMatch | None = None
    after: str | None = None
    disk: Match = None
    file: Match = None


class LogNormal(Struct, frozen=True, forbid_unknown_fields=True):
    """A delay whose logarithm is normally distributed."""

    median: Duration
    sigma: Annotated[float, Meta(ge=0)] = 0.5


class Dribble(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer in pieces of so many bytes, with a pause after each."""

    bytes: Annotated[int, Meta(ge=1)] = 1
    every: Duration = "10ms"


class Action(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One thing that is done to a request. Exactly one of the kinds is given.

    `message`, `apply` and `only` belong to `error`, `reset` to `drop` and `cut`, `arguments` and
    `at` to `run`. `only` "matched": the partitions that the criteria name have the error, and the
    others are answered truly; "all": each of them has it.
    """

    delay: Duration | None = None
    uniform: tuple[Duration, Duration] | None = None
    lognormal: LogNormal | None = None
    hold: Literal[True] | Moment | None = None
    error: str | int | None = None
    drop: Moment | None = None
    silence: Moment | None = None
    cut: Annotated[float, Meta(ge=0)] | None = None
    dribble: Dribble | None = None
    throttle: Duration | None = None
    patch: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    corrupt: Literal["crc", "length", "value"] | None = None
    repeat: Annotated[int, Meta(ge=2, le=1000)] | None = None
    run: str | None = None
    count: Literal[True] | None = None
    errno: str | None = None
    short: Annotated[int, Meta(ge=1)] | None = None

    message: str | None = None
    apply: bool = False
    only: Literal["matched", "all"] = "matched"
    reset: bool = False
    arguments: dict[str, Any] = {}
    at: Literal["before", "then", "beside"] = "before"

    @property
    def kind(self) -> str:
        """The name of the kind that is given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def is_final(self) -> bool:
        """Tells whether later rules do not see the request."""
        return self.kind in _FINAL

    @property
    def is_after(self) -> bool:
        """Tells whether the request is handled first."""
        kind = self.kind
        return (
            kind in _AFTER
            or "after" in (self.drop, self.silence, self.hold)
            or (kind == "error" and self.apply)
            or (kind == "run" and self.at == "then")
        )


KINDS: Final = (
    "delay",
    "uniform",
    "lognormal",
    "hold",
    "error",
    "drop",
    "silence",
    "cut",
    "dribble",
    "throttle",
    "patch",
    "answer",
    "corrupt",
    "repeat",
    "run",
    "count",
    "errno",
    "short",
)
_FINAL: Final = frozenset({"error", "drop", "silence", "cut", "answer", "errno"})
_AFTER: Final = frozenset({"cut", "dribble", "throttle", "patch", "corrupt"})


class Rule(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    rename={"lasting": "for"},
):
    """One fault. `lasting` (in JSON: `for`) is the time after which it is no longer due.

    `wake`: requests that wait for records when it comes are answered, so that it sees the next
    ones.
    """

    id: Annotated[str, Meta(max_length=200)] = ""
    note: str = ""
    when: When = When()
    skip: Annotated[int, Meta(ge=0)] = 0
    times: Annotated[int, Meta(ge=1)] | None = 1
    every: Annotated[int, Meta(ge=1)] = 1
    probability: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    lasting: Duration | None = None
    do: tuple[Action, ...] = ()
    sequence: tuple[tuple[Action, ...], ...] = ()
    optional: bool = False
    wake: bool = False

    @property
    def limit(self) -> int | None:
        """Counts how often it is applied at most: a sequence is gone through `times` times."""
        if self.times is None:
            return None
        return self.times * max(1, len(self.sequence))

    @property
    def all_actions(self) -> tuple[Action, ...]:
        """Every action that it may come to do."""
        return (*self.do, *(each for turn in self.sequence for each in turn))

    def actions(self, turn: int) -> tuple[Action, ...]:
        """Says what is done at the `turn`-th time (from 0) that it is due."""
        return self.sequence[turn % len(self.sequence)] if self.sequence else self.do


def check_rule(rule: Rule) -> Rule:
    """The rule, if it can be done. Raises Problem."""
    if bool(rule.do) == bool(rule.sequence):
        raise Problem("invalid_fault", "a fault needs either `do` or `sequence`, with an action")
    for action in rule.all_actions:
        _check_action(action)
    if rule.lasting is not None:
        seconds(rule.lasting, field="for")
    return rule


def _check_action(action: Action) -> None:
    given = [kind for kind in KINDS if getattr(action, kind) is not None]
    if len(given) != 1:
        raise Problem(
            "invalid_fault",
            f"an action has one kind, and this has {', '.join(given) or 'none'}",
            hint=f"one of {', '.join(KINDS)}",
        )
    if action.error is not None:
        error_code(action.error)
    for field, value in (("delay", action.delay), ("throttle", action.throttle)):
        if value is not None:
            seconds(value, field=field)
    for value in action.uniform or ():
        seconds(value, field="uniform")
    if action.lognormal is not None:
        seconds(action.lognormal.median, field="lognormal.median")
    if action.dribble is not None:
        seconds(action.dribble.every, field="dribble.every")


def error_code(name: str | int) -> ErrorCode:
    """Kafka's error of that name or number, but not NONE. Raises Problem."""
    try:
        code = ErrorCode(name) if isinstance(name, int) else ErrorCode[name]
    except (KeyError, ValueError):
        raise Problem(
            "unknown_error",
            f"Kafka has no error {name!r}",
            value=name,
            hint="names are those of Kafka's Errors, such as NOT_LEADER_OR_FOLLOWER",
        ) from None
    if code is ErrorCode.NONE:
        raise Problem("unknown_error", "NONE is no error", value=name)
    return code
