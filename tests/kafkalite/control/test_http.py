"""The control port of a process of its own: verbs from elsewhere, and those who may not ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.client.connecting import AsyncClient, Client, read_ready_file
from kafkalite.client.errors import WaitTimeout
from kafkalite.control.problems import Problem
from kafkalite.faults import drop
from tests.kafkalite.control.clients import produced


def started(ready: Path, *flags: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "kafkalite", "--port", "0", "--ready-file", str(ready)]
    process = subprocess.Popen([*command, "--log-level", "warning", *flags])
    deadline = time.monotonic() + 30
    while not ready.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return process


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("control") / "ready.json"
    process = started(path, "--temporary", "--control-port", "0", "--profile", "test")
    try:
        yield path
    finally:
        process.terminate()
        assert process.wait(20) == 0


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


def test_the_ready_file_is_for_its_user_alone(ready: Path) -> None:
    assert os.stat(ready).st_mode & 0o777 == 0o600


def test_verbs_from_elsewhere(k: Client, ready: Path) -> None:
    bootstrap = json.loads(ready.read_text())["bootstrap"]
    assert k.describe().bootstrap == bootstrap
    k.create_topic("t", partitions=2)
    k.produce("t", b"\x00\xff", key="k", partition=1)
    (record,) = k.records("t", 1, partition=1)
    assert (record.key, record.value, record.value_encoding) == ("k", "AP8=", "base64")
    fault = k.fault("Produce", topic="t", do=drop.after)
    k.bootstrap = bootstrap  # type: ignore[attr-defined]
    assert produced(k) == [None]
    assert fault.applied == 1
    assert fault.show().hits[0].did == ["drop after"]
    assert k.clock.advance("1h").now_ms > 0
    with pytest.raises(WaitTimeout, match="t has 3 of 10 records"):
        k.wait.records("t", 10, timeout="100ms")
    with pytest.raises(Problem, match="no topic 'none'"):
        k.topic("none")
    k.snapshot("one")
    assert [each.snapshot for each in k.snapshots()] == ["one"]
    assert k.reset().topics == 1
    k.restore("one")
    assert len(k.records("t")) == 3


async def _use(client: AsyncClient) -> None:
    await client.create_topic("t")
    await client.produce("t", "v")
    (record,) = await client.records("t", 1)
    assert record.value == "v"
    with pytest.raises(WaitTimeout):
        await client.wait.records("t", 2, timeout="10ms")
    await client.reset()


def test_the_awaited_client_in_both_loops(ready: Path) -> None:
    client = AsyncClient(*read_ready_file(ready))
    trio.run(_use, client)
    asyncio.run(_use(client))


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
        ("POST", "/clusters/default/seed", b"[" * (1 << 21), {}, 413, "too_large"),
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


def test_openapi_describes_every_verb(asked: Asked) -> None:
    from kafkalite.control.verbs import VERBS

    status, described = asked("GET", "/openapi.json")
    assert (status, described["openapi"]) == (200, "3.1.0")
    operations = {
        operation["operationId"]
        for path in described["paths"].values()
        for operation in path.values()
    }
    assert operations == {name.replace(".", "_") for name in VERBS}


def test_beyond_loopback_only_with_a_token_set_on_purpose(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kafkalite", "--port", "0", "--temporary"]
    flags = ["--control-port", "0", "--set", "kafkalite.control.host=0.0.0.0"]
    done = subprocess.run(
        [*command, *flags], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 2
    assert "without kafkalite.control.token" in done.stderr
    ready = tmp_path / "ready.json"
    process = started(ready, "--temporary", *flags, "--set", "kafkalite.control.token=secret")
    try:
        assert read_ready_file(ready)[1] == "secret"
        assert Client.of_ready_file(ready).describe().topics == 0
    finally:
        process.terminate()
        assert process.wait(20) == 0


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
            assert process.wait(20) == 0


def test_nothing_of_it_is_imported_at_start() -> None:
    code = (
        "import sys, kafkalite.broker, kafkalite.__main__\n"
        "print([m for m in sys.modules if m.startswith(('kafkalite.control', 'msgspec', 'h11'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
