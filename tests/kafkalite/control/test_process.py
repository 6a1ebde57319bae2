"""A process with a control port: its page, and the directory that it keeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from kafkalite.client.connecting import Client, read_ready_file
from kafkalite.terminal.connection import Connection
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.kafkalite.control_port import started
from tests.kafkalite.first_partition import produce

# The command, which tells at SIGUSR1 how often each function was called since it was last told.
COUNTING = """
import collections, json, signal, sys
from kafkalite.__main__ import main

calls = collections.Counter()


def count(frame, event, argument):
    if event == "call":
        calls[frame.f_globals.get("__name__", "?") + "." + frame.f_code.co_qualname] += 1


def tell(*_):
    sys.setprofile(None)
    print(json.dumps(calls), flush=True)
    calls.clear()
    sys.setprofile(count)


signal.signal(signal.SIGUSR1, tell)
sys.setprofile(count)
sys.exit(main(sys.argv[1:]))
"""
REQUESTS = 400


@pytest.mark.slow
def test_a_directory_that_is_kept_is_kept(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path / "data"), "--control-port", "0"]
    for turn in range(2):
        ready = tmp_path / f"ready-{turn}.json"
        process = started(ready, *flags)
        try:
            client = Client.of_ready_file(ready)
            assert client.describe().topics == turn
            if not turn:
                client.create_topic("before")
                assert client.reset().topics == 1
                client.create_topic("after")
                client.produce("after", "v")
            assert len(client.records("after")) == 1
        finally:
            process.terminate()
            assert process.wait() == 0


@pytest.mark.slow
def test_the_page_is_served_when_it_is_asked_for(tmp_path: Path) -> None:
    """Its files ask for no token, what it shows does; nothing of it is imported before."""
    ready = tmp_path / "ready.json"
    process = started(ready, "--temporary", "--ui")
    try:
        told = json.loads(ready.read_text())
        url, token = read_ready_file(ready)
        assert told["ui"] == f"{url}/#token={token}"
        with urlopen(f"{url}/", timeout=60) as page:
            assert page.headers["Content-Type"] == "text/html; charset=utf-8"
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]
            assert b"app.js" in page.read()
        tag = {"If-None-Match": str(page.headers["ETag"])}
        for path, method, headers, status in (
            ("/nothing.js", "GET", {}, 404),
            ("/../etc/passwd", "GET", {}, 404),
            ("/app.js", "PUT", {}, 405),
            ("/app.js", "GET", {"Host": "evil.example"}, 421),
            ("/", "GET", tag, 304),
            ("/v1/clusters", "GET", {}, 401),
        ):
            with pytest.raises(HTTPError) as caught:
                urlopen(Request(url + path, method=method, headers=headers), timeout=60)
            assert caught.value.code == status
            caught.value.close()
    finally:
        process.terminate()
        assert process.wait() == 0


def calls_of_requests(
    ready: Path, *flags: str, is_looked_at: bool = False, value: bytes = b"v"
) -> Counter[str]:
    """A broker is asked for so many Produce requests: it has called each function so often."""
    command = [sys.executable, "-c", COUNTING, "--port", "0", "--ready-file", str(ready)]
    process = subprocess.Popen(
        [*command, "--temporary", "--log-level", "warning", *flags],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("kafkalite ")
        if is_looked_at:
            looks_and_leaves(ready)
        host, port = json.loads(ready.read_text())["bootstrap"].split(":")
        connection = Connection(host, int(port), {})
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        created = connection.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
        request = produce(value, 0)
        request.topic_data[0].topic_id = created.topics[0].topic_id
        # Before the first are those of the start, of the topic, and of the first request.
        for count in (1, REQUESTS):
            for _ in range(count):
                answer = connection.ask(request)
                assert answer.responses[0].partition_responses[0].error_code == 0
            os.kill(process.pid, signal.SIGUSR1)
            told = next(line for line in process.stdout if line.startswith("{"))
        connection.close()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    return Counter(json.loads(told))


def looks_and_leaves(ready: Path) -> None:
    """The page is asked for, and some of its questions; then it is closed."""
    client = Client.of_ready_file(ready)
    client.describe()
    url, token = read_ready_file(ready)
    for path in ("/", "/v1/clusters/default/traffic", "/v1/clusters/default/topics"):
        request = Request(url + path, headers={"Authorization": f"Bearer {token}"})
        with urlopen(request, timeout=60) as answer:
            answer.read()


@pytest.mark.slow
@pytest.mark.parametrize("is_looked_at", [False, True], ids=["never opened", "closed"])
def test_a_page_that_is_not_open_costs_a_request_nothing(
    tmp_path: Path, *, is_looked_at: bool
) -> None:
    """A broker with --ui calls the same functions, and asks a clock that can be set."""
    without = calls_of_requests(tmp_path / "without.json")
    with_page = calls_of_requests(tmp_path / "with.json", "--ui", is_looked_at=is_looked_at)
    assert sum(count >= REQUESTS for count in without.values()) > 20
    # Timers, which have their own pace, call less often than every other request.
    a_request = {
        name: (round(without[name] / REQUESTS), round(with_page[name] / REQUESTS))
        for name in without | with_page
    }
    changed = {name: calls for name, calls in a_request.items() if calls[0] != calls[1]}
    assert changed == {"kafkalite.control.clock.ClusterClock.now_ms": (0, 1)}


@pytest.mark.slow
def test_it_costs_a_large_request_nothing(tmp_path: Path) -> None:
    """Its reads differ in number, but the functions are the same."""
    large = bytes(900_000)
    without = calls_of_requests(tmp_path / "without.json", value=large)
    with_page = calls_of_requests(tmp_path / "with.json", "--ui", value=large)
    often = [{n for n, count in c.items() if count >= REQUESTS} for c in (without, with_page)]
    assert len(often[0]) > 20
    assert often[1] - without.keys() == {"kafkalite.control.clock.ClusterClock.now_ms"}
    assert often[0] <= with_page.keys()


@pytest.mark.slow
def test_there_is_no_page_unless_it_is_asked_for(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    process = started(ready, "--temporary", "--control-port", "0")
    try:
        assert "ui" not in json.loads(ready.read_text())
        with pytest.raises(HTTPError, match="404") as caught:
            urlopen(f"{read_ready_file(ready)[0]}/", timeout=60)
        assert "kafkalite --ui" in json.loads(caught.value.read())["hint"]
        caught.value.close()
    finally:
        process.terminate()
        assert process.wait() == 0
