"""A process with a control port: its page, and the directory that it keeps."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from kafkalite.client.connecting import Client, read_ready_file
from tests.kafkalite.control_port import started


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
