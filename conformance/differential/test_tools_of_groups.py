"""The output of Kafka's tools for share groups, streams groups, all groups, and client metrics."""

from __future__ import annotations

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.share_requests import (
    ACCEPT,
    Member,
    beat,
    configure,
    produce,
    until_ready,
)
from conformance.differential.streams_requests import beat as beat_in_streams
from conformance.differential.streams_requests import commit, join, owning, stateless, topology
from conformance.differential.test_tools import Compare, compare, plain, ready, tools
from conformance.harness.tool_process import ToolProcess

__all__ = ["compare", "ready", "tools"]  # the fixtures

LEAVES = -1


def compare_own(pair: Pair, tools: ToolProcess, name: str, tool: str, *arguments: str) -> list[str]:
    """The lines about groups of this name, which are the same; other tests have groups, too."""
    seen: list[list[str]] = []
    for side in pair.sides:
        _, printed = tools.run(tool, *arguments, "--bootstrap-server", side.broker.bootstrap)
        lines = plain(side, printed).splitlines()
        seen.append(sorted(" ".join(line.split()) for line in lines if line.startswith(name)))
    assert seen[1] == seen[0], (tool, arguments)
    return seen[0]


@pytest.fixture
def share_group(pair: Pair, ready: str) -> str:
    """A group with a member that has accepted two of three records and has the third."""
    group = f"{ready}-share"
    configure(pair, group, **{"share.auto.offset.reset": "earliest"})
    beat(pair, group, subscribed_topic_names=[ready])
    until_ready(pair, group, ready, 2)
    member = Member(pair, group, ready)
    produce(pair, ready, 3)
    member.fetch(max_wait_ms=5000)
    member.say((0, 1, ACCEPT))
    return group


def test_share_groups(pair: Pair, tools: ToolProcess, compare: Compare, share_group: str) -> None:
    tool, group = "kafka-share-groups", ("--group", share_group)
    topic = ("--topic", share_group.removesuffix("-share"))
    for what in ("", "--offsets", "--members", "--state", "--offsets --verbose"):
        assert share_group in compare(tool, "--describe", *group, *what.split())
    for what in ("--members --verbose", "--state --verbose"):
        compare(tool, "--describe", *group, *what.split())
    reset = ("--reset-offsets", *group, *topic)
    compare(tool, *reset, "--to-earliest", "--execute")  # there is a member
    compare(tool, "--delete-offsets", *group, *topic)
    compare(tool, "--delete", *group)
    for states in ((), ("--state",), ("--state", "stable"), ("--state", "empty")):
        compare_own(pair, tools, share_group, tool, "--list", *states)
    compare(tool, "--list", "--state", "no-such-state")
    beat(pair, share_group, member_epoch=LEAVES)
    for what in ("--offsets", "--members", "--state"):
        compare(tool, "--describe", *group, *what.split())
    for how in ("--to-earliest", "--to-latest", "--to-datetime 2024-01-01T00:00:00.000"):
        compare(tool, *reset, *how.split(), "--dry-run")
    compare(tool, *reset, "--to-earliest", "--execute")
    compare(tool, "--describe", *group)
    compare(tool, "--reset-offsets", *group, "--topic", f"{share_group}-x", "--to-latest")
    compare(tool, "--delete-offsets", *group, "--topic", f"{share_group}-x")
    compare(tool, "--delete-offsets", *group, *topic)
    compare(tool, "--describe", *group)
    compare(tool, "--delete", *group)
    compare(tool, "--delete", *group)
    compare(tool, "--describe", *group)


@pytest.fixture
def streams_group(pair: Pair, ready: str) -> str:
    """A group with two members, and an offset."""
    group = f"{ready}-streams"
    plain = topology(stateless(ready))
    join(pair, group, "m-1", plain)
    join(pair, group, "m-2", plain)
    beat_in_streams(pair, group, "m-1", member_epoch=2, **owning(_0=[0, 1]))
    beat_in_streams(pair, group, "m-1", member_epoch=2, **owning(_0=[0]))
    produce(pair, ready, 9)
    commit(pair, group, ready, 3, "m-1", version=9)
    return group


def test_streams_groups(
    pair: Pair, tools: ToolProcess, compare: Compare, streams_group: str
) -> None:
    tool, group = "kafka-streams-groups", ("--group", streams_group)
    topic = ("--input-topic", streams_group.removesuffix("-streams"))
    for what in ("", "--offsets", "--state", "--offsets --verbose", "--state --verbose"):
        assert streams_group in compare(tool, "--describe", *group, *what.split())
    for what in ("--members", "--members --verbose"):  # in the order of a hash table
        printed = compare(tool, "--describe", *group, *what.split(), in_any_order=True)
        assert "ACTIVE: 0:[0]" in printed
    reset = ("--reset-offsets", *group, *topic)
    compare(tool, *reset, "--to-earliest", "--execute")  # there are members
    compare(tool, "--delete-offsets", *group, *topic)
    compare(tool, "--delete", *group)
    for states in ((), ("--state",), ("--state", "reconciling,stable"), ("--state", "empty")):
        compare_own(pair, tools, streams_group, tool, "--list", *states)
    for member in ("m-1", "m-2"):
        beat_in_streams(pair, streams_group, member, member_epoch=LEAVES)
    for what in ("--offsets", "--members", "--state"):
        compare(tool, "--describe", *group, *what.split())
    for how in (
        *("--to-earliest", "--to-latest", "--to-current", "--to-offset 2", "--shift-by -1"),
        *("--to-datetime 2024-01-01T00:00:00.000", "--by-duration PT1H"),
    ):
        compare(tool, *reset, *how.split(), "--dry-run")
    compare(tool, *reset, "--to-offset", "2", "--execute")
    compare(tool, "--describe", *group)
    compare(tool, "--delete-offsets", *group, *topic)
    compare(tool, "--delete", *group)
    compare(tool, "--delete", *group)
    compare(tool, "--describe", *group)


def test_all_groups(
    pair: Pair, tools: ToolProcess, compare: Compare, share_group: str, streams_group: str
) -> None:
    name = share_group.removesuffix("-share")
    for which in (
        (),
        ("--consumer",),
        ("--share",),
        ("--streams",),
        *[("--group-type", each) for each in ("classic", "consumer", "share", "streams")],
        ("--protocol", "share"),
        ("--protocol", "streams"),
        ("--protocol", "consumer"),
        ("--group-type", "share", "--protocol", "streams"),
    ):
        compare_own(pair, tools, name, "kafka-groups", "--list", *which)
    assert len(compare_own(pair, tools, name, "kafka-groups", "--list")) == 2
    compare("kafka-groups", "--list", "--group-type", "no-such-type")


def test_client_metrics(compare: Compare, topic: str) -> None:
    tool, name = "kafka-client-metrics", ("--name", topic)
    compare(tool, "--describe", *name)
    given = ("--metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer.")
    compare(tool, "--alter", *name, *given, "--interval", "5000", "--match", "client_id=a")
    assert "interval.ms=5000" in compare(tool, "--describe", *name)
    compare(tool, "--alter", *name, "--interval", "")
    compare(tool, "--describe", *name)
    for wrong in (
        ("--interval", "1"),
        ("--interval", "x"),
        ("--match", "no_such=1"),
        ("--match", "client_id"),
    ):
        compare(tool, "--alter", *name, *wrong)
    compare(tool, "--describe", *name)
    assert topic in compare(tool, "--list", in_any_order=True)
    compare(tool, "--delete", *name)
    compare(tool, "--delete", *name)
    compare(tool, "--describe", *name)
