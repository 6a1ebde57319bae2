"""Lines of the log name their cluster: one loop serves all clusters of a process."""

from __future__ import annotations

import logging
import re
import socket
from typing import Any

import pytest

from kafkalite.testing import broker
from tests.kafkalite.control.clients import consumer, produced


def used(k: Any, tag: str) -> None:
    """Have lines of verbs, requests, a group, a session that ends, an unreadable frame."""
    k.create_topic(f"{tag}-verb")
    assert produced(k, f"{tag}-client") == [None]
    reader = consumer(k, f"{tag}-group")
    reader.subscribe([f"{tag}-client"])
    while reader.poll(0.1) is None:
        pass
    k.group(f"{tag}-group").expire()
    reader.close()
    host, _, port = k.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(b"\0\0\0\x0c\0\x03\0\x09\0\0\0\7\xff\xff\xff\xff")
        assert sock.recv(1) == b""


def named(records: list[logging.LogRecord], text: str) -> set[str]:
    """The clusters that lines with this text begin with; "" for those that name none."""
    lines = [each for each in records if text in each.getMessage()]
    clusters = {each: getattr(each, "cluster", "") for each in lines}
    assert all(each.getMessage().startswith(name) for each, name in clusters.items())
    return set(clusters.values())


def test_each_line_names_the_cluster_that_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkalite")
    caplog.set_level(logging.DEBUG, "kafka.request.logger")
    with broker(profile="test") as k, k.new_cluster("one") as one, k.new_cluster("two") as two:
        used(k, "k")
        used(one, "first")
        used(two, "second")
        one.reset()
        used(one, "again")
        one.restart()
        used(one, "restarted")
    records = caplog.records
    clusters = {"k": "", "first": "one", "second": "two", "again": "one", "restarted": "one"}
    assert {tag: named(records, f"{tag}-") for tag in clusters} == {
        tag: {cluster} for tag, cluster in clusters.items()
    }
    for tag in clusters:
        for line in ("topic {}-verb created", "topic {}-client created", "group {}-group"):
            assert named(records, line.format(tag)), line
        assert named(records, f"{tag}-client:"), "no line of a request"
    closed = [each for each in records if "connection closed" in each.getMessage()]
    assert [getattr(each, "cluster", "") for each in closed] == list(clusters.values())


def test_brokers_of_one_process_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkalite")
    with broker(profile="test") as one:
        with broker(profile="test") as other, other.new_cluster("t") as in_other:
            one.create_topic("one-verb")
            used(other, "other")
            used(in_other, "in-other")
        with broker(profile="test") as again:
            again.create_topic("again-verb")
    names = {"one-": {""}, "other-": {"broker-2"}, "in-other-": {"broker-2/t"}}
    names["again-"] = {"broker-2"}
    for tag, cluster in names.items():
        lines = [each for each in caplog.records if re.search(rf"\b(?<!-){tag}", each.getMessage())]
        assert {getattr(each, "cluster", "") for each in lines} == cluster, tag
    ports = [each for each in caplog.records if "listens" in each.getMessage()]
    assert {getattr(each, "cluster", "") for each in ports} <= {"", "broker-2", "broker-2/t"}
