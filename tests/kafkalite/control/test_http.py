"""Verbs over HTTP, and requests that are refused."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalite.client.connecting import Client, read_ready_file


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
    assert k.ask("trace").data.startswith(b"PK")
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
        ("GET", "/nothing", None, {}, 404, "not_found"),
        ("GET", "/clusters/none", None, {}, 404, "not_found"),
        ("GET", "/clusters/default/topics/t/records?count=many", None, {}, 400, "invalid_request"),
        pytest.param(
            "POST", "/clusters/default/seed", b"[" * (1 << 21), {}, 413, "too_large", id="2 MB"
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


def test_nothing_of_it_is_imported_at_start() -> None:
    code = (
        "import sys, kafkalite.broker, kafkalite.__main__\n"
        "print([m for m in sys.modules if m.startswith(('kafkalite.control', 'msgspec', 'h11'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
