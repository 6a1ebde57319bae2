"""Verbs over HTTP, and requests that are refused."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from kafkalite.client.connecting import Client, read_ready_file
from kafkalite.control.http import MOST_STREAMS


@pytest.fixture
def k(ready: Path) -> Iterator[Client]:
    client = Client.of_ready_file(ready)
    yield client
    client.reset()


class Asked:
    """A request by hand."""

    def __init__(self, ready: Path) -> None:
        self.url, self.token = read_ready_file(ready)
        self.address = self.url.removeprefix("http://")

    def __call__(
        self, method: str, path: str, body: object = None, **headers: str | None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.address, timeout=10)
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        for name, value in headers.items():
            if value is None:
                del given[name]
            else:
                given[name] = value
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        connection.request(method, f"/v1{path}", body=data, headers=given)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)


@pytest.fixture
def asked(ready: Path) -> Asked:
    return Asked(ready)


@pytest.mark.slow
def test_the_ready_file_is_for_its_user_alone(ready: Path) -> None:
    assert os.stat(ready).st_mode & 0o777 == 0o600


def test_plain_http(asked: Asked, k: Client) -> None:
    assert asked("GET", "/health", Authorization=None) == (200, {"status": "ok"})
    status, topic = asked("POST", "/clusters/default/topics", {"topic": "t", "partitions": 3})
    assert (status, len(topic["partitions"])) == (200, 3)
    status, records = asked("GET", "/clusters/default/topics/t/records?count=5&partition=1")
    assert (status, records) == (200, [])
    rule = {"when": {"api": "EndTxn"}, "times": 2, "do": [{"silence": "after"}], "for": "1h"}
    assert asked("PUT", "/clusters/default/faults/lost", rule)[0] == 200
    status, fault = asked("GET", "/clusters/default/faults/lost")
    assert (fault["rule"]["id"], fault["rule"]["for"], fault["left"]) == ("lost", "1h", 2)
    waiting = {"until": {"not": {"topic": {"name": "t"}}}, "timeout": "10ms"}
    status, waited = asked("POST", "/clusters/default/wait", waiting)
    assert (status, waited["met"]) == (200, False)
    status, made = asked("POST", "/clusters", {"nodes": 2, "name": "mine"})
    assert (status, made["name"], len(made["nodes"])) == (200, "mine", 2)
    assert asked("DELETE", "/clusters/mine")[0] == 200
    assert asked("PUT", "/clusters/default/spy", {"mode": "on"})[1]["mode"] == "on"
    assert asked("GET", "/clusters/default/requests?after=0&limit=5&error=*") == (200, [])
    status, events = asked("GET", "/clusters/default/events?after=0&kind=topic.*")
    assert (status, events[0]["about"]) == (200, {"topic": "t"})
    assert asked("PUT", "/clusters/default/spy", {"mode": "off"})[0] == 200
    assert k.ask("trace.save").data.startswith(b"PK")
    assert asked("GET", "/clusters/mine")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "code"),
    [
        ("GET", "/clusters", None, {"Authorization": None}, 401, "unauthorized"),
        ("GET", "/clusters", None, {"Authorization": "Bearer x"}, 401, "unauthorized"),
        ("GET", "/clusters", None, {"Host": "evil.example"}, 421, "misdirected"),
        ("GET", "/clusters", None, {"Host": "evil.example:80"}, 421, "misdirected"),
        ("GET", "/clusters", None, {"Origin": "http://evil.example"}, 403, "forbidden"),
        ("GET", "/clusters", None, {"Origin": "null"}, 403, "forbidden"),
        (
            "POST",
            "/clusters/default/reset",
            b"a=b",
            {"Content-Type": "application/x-www-form-urlencoded"},
            415,
            "unsupported_media_type",
        ),
        ("POST", "/clusters/default/reset", b"{", {}, 400, "invalid_json"),
        ("POST", "/clusters/default/reset", [], {}, 400, "invalid_request"),
        ("POST", "/clusters/default/reset", {"keeps": []}, {}, 400, "invalid_request"),
        ("POST", "/clusters/default/clock/advance", {"by": "soon"}, {}, 400, "invalid_duration"),
        ("PATCH", "/clusters", None, {}, 405, "method_not_allowed"),
        ("POST", "/openapi.json", {}, {}, 405, "method_not_allowed"),
        ("DELETE", "/openapi.json", None, {}, 405, "method_not_allowed"),
        ("GET", "/nothing", None, {}, 404, "not_found"),
        ("GET", "/clusters/none", None, {}, 404, "not_found"),
        ("GET", "/clusters/default/topics/t/records?count=many", None, {}, 400, "invalid_request"),
        pytest.param(
            "POST", "/clusters/default/seed", b"[" * (1 << 21), {}, 413, "too_large", id="2 MB"
        ),
        pytest.param(
            "POST", "/clusters/default/seed", b"[" * 100_000, {}, 400, "invalid_json", id="deep"
        ),
    ],
)
def test_what_is_refused(
    asked: Asked,
    method: str,
    path: str,
    body: object,
    headers: dict[str, str | None],
    status: int,
    code: str,
) -> None:
    told, problem = asked(method, path, body, **headers)
    assert (told, problem["code"]) == (status, code)
    assert problem["detail"]


def headers_of(asked: Asked, method: str, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer, whose body must be there, or not, as it says."""
    connection = http.client.HTTPConnection(asked.address, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    assert bool(answer.read()) == (method != "HEAD")
    connection.close()
    return answer.status, dict(answer.getheaders())


def test_a_refusal_says_in_its_headers_what_is_allowed(asked: Asked) -> None:
    status, headers = headers_of(asked, "PATCH", "/v1/openapi.json")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    token = f"Bearer {asked.token}"
    status, headers = headers_of(asked, "PATCH", "/v1/clusters", Authorization=token)
    assert (status, headers["Allow"]) == (405, "GET, POST")
    status, headers = headers_of(asked, "GET", "/v1/clusters")
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("path", ["/v1/health", "/v1/openapi.json"])
def test_what_asks_for_no_token_is_there_by_head(asked: Asked, path: str) -> None:
    status, headers = headers_of(asked, "HEAD", path)
    assert status == 200
    assert headers["Content-Length"] == headers_of(asked, "GET", path)[1]["Content-Length"]


def test_a_type_is_the_same_in_capital_letters(asked: Asked) -> None:
    given = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert asked("POST", "/clusters/default/topics", {"topic": "t"}, **given)[0] == 200


@pytest.mark.parametrize("target", ["http://[x/", "//[x/v1/health"])
def test_a_target_that_is_none_is_refused(asked: Asked, target: str) -> None:
    host, _, port = asked.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")


def test_nothing_of_it_is_imported_at_start() -> None:
    code = (
        "import sys, kafkalite.broker, kafkalite.__main__\n"
        "print([m for m in sys.modules if m.startswith(('kafkalite.control', 'h11'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Stream:
    """A stream by hand: its head, and its events as they come."""

    def __init__(self, ready: Path, query: str = "", **headers: str) -> None:
        url, token = read_ready_file(ready)
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        given = {"Authorization": f"Bearer {token}", **headers}
        self.connection.request("GET", f"/v1/clusters/default/stream{query}", headers=given)
        self.answer = self.connection.getresponse()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.answer.close()
        self.connection.close()

    def event(self) -> dict[str, str]:
        """The next event, without comments."""
        fields: dict[str, str] = {}
        while line := self.answer.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        return fields if "data" in fields else self.event()


def test_events_are_streamed(ready: Path, k: Client) -> None:
    with Stream(ready, "?what=events&kind=topic.*") as stream:
        assert stream.answer.getheader("Content-Type") == "text/event-stream"
        k.create_topic("a")
        first = stream.event()
    assert first["event"] == "event"
    told = json.loads(first["data"])
    assert (told["id"], told["event"]["about"]) == (first["id"], {"topic": "a"})
    k.create_topic("b")
    # A browser that was cut off asks again so: the header counts, not the query.
    again = {"Last-Event-ID": first["id"]}
    with Stream(ready, "?kind=topic.*&after=0-0", **again) as stream:
        assert json.loads(stream.event()["data"])["event"]["about"] == {"topic": "b"}


def test_a_stream_ends_at_its_limit(ready: Path, k: Client) -> None:
    k.create_topic("a")
    with Stream(ready, "?after=0-0&what=events&limit=2") as stream:
        assert len([stream.event(), stream.event()]) == 2
        assert stream.answer.read() == b""


@pytest.mark.parametrize(
    ("query", "status"), [("?after=x", 400), ("?api=Produse", 400), ("?limit=0", 400)]
)
def test_a_stream_that_cannot_be(ready: Path, query: str, status: int) -> None:
    with Stream(ready, query) as stream:
        assert stream.answer.status == status
        assert json.loads(stream.answer.read())["detail"]


def test_streams_leave_room_for_verbs(ready: Path, asked: Asked) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(Stream(ready)) for _ in range(MOST_STREAMS)]
        said = [each.answer.readline() for each in streams]
        assert said == [b": nothing new\n"] * MOST_STREAMS
        with Stream(ready) as refused:
            assert refused.answer.status == 429
            assert "streams are open already" in json.loads(refused.answer.read())["detail"]
        assert asked("GET", "/clusters")[0] == 200
    for _ in range(100):  # those who have gone are noticed
        with Stream(ready) as again:
            if again.answer.status == 200:
                return
        time.sleep(0.1)
    pytest.fail("streams without a client stay")


def test_a_snapshot_comes_as_a_body(asked: Asked, k: Client, tmp_path: Path) -> None:
    k.create_topic("t")
    for _ in range(4):  # in all more than a body of JSON may have
        k.produce("t", "x" * 5000, count=175)
    exported = k.export(tmp_path / "data.tar")
    k.reset()
    assert k.import_snapshot("brought", exported).size_bytes > 3 << 20
    k.restore("brought")
    assert len(k.records("t")) == 700
    tar = {"Content-Type": "application/x-tar"}
    path = "/snapshots/brought/archive"
    for headers, status, code in (
        ({**tar, "Authorization": None}, 401, "unauthorized"),
        ({**tar, "Host": "evil.example"}, 421, "misdirected"),
        ({**tar, "Origin": "http://evil.example"}, 403, "forbidden"),
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ({}, 415, "unsupported_media_type"),
        (tar, 400, "invalid_archive"),
    ):
        told, problem = asked("PUT", path, bytes(1 << 20), **headers)
        assert (told, problem["code"]) == (status, code)
    told, problem = asked("PUT", "/snapshots/a%2Fb/archive", b"x", **tar)
    assert (told, problem["code"]) == (400, "invalid_request")
    told, problem = asked("POST", "/clusters/default/reset", b"x", **tar)
    assert (told, problem["code"]) == (415, "unsupported_media_type")
    k.ask("snapshots.delete", snapshot="brought")


def test_a_file_that_is_announced_too_large_is_not_read(ready: Path) -> None:
    url, token = read_ready_file(ready)
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = (
            f"PUT /v1/snapshots/s/archive HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/x-tar\r\n"
            f"Expect: 100-continue\r\nContent-Length: {1 << 40}\r\n\r\n"
        )
        connection.sendall(head.encode())
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413")
