"""The Kafka that is meant, in the order of who says so."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest

from kafkalite.terminal.target import DEFAULT, Target, find


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    path = tmp_path / "ready.json"
    clients = {"librdkafka": {"sasl.username": "alice", "sasl.password": "secret"}}
    path.write_text(json.dumps({"bootstrap": "r:1", "clients": clients}))
    return path


def test_the_order(ready: Path) -> None:
    environment = {"KAFKALITE_BOOTSTRAP": "e:1", "KAFKALITE_READY_FILE": str(ready)}
    in_file = {"bootstrap.servers": "f:1", "debug": "all"}
    assert find("b:1", in_file, ready, environment) == Target("b:1", {"debug": "all"})
    assert find(None, in_file, ready, environment) == Target("f:1", {"debug": "all"})
    assert find(None, {}, ready, environment).bootstrap == "r:1"
    assert find(None, {}, None, environment) == Target("e:1")
    del environment["KAFKALITE_BOOTSTRAP"]
    assert find(None, {}, None, environment).bootstrap == "r:1"
    assert find(None, {}, None, {}) == Target(DEFAULT)
    running = {"XDG_RUNTIME_DIR": str(ready.parent)}
    assert find(None, {}, None, running) == Target(DEFAULT)
    (ready.parent / "kafkalite").mkdir()
    own = ready.parent / "kafkalite" / "1.json"
    own.write_text(json.dumps({"bootstrap": "u:1", "pid": os.getpid()}))
    assert find(None, {}, None, running).bootstrap == "u:1"
    assert find(None, {}, None, environment | running).bootstrap == "r:1"


def test_a_ready_file_brings_how_to_get_in(ready: Path) -> None:
    found = find(None, {"sasl.username": "bob"}, ready, {})
    assert found.settings == {"sasl.username": "bob", "sasl.password": "secret"}
    assert find("b:1", {}, ready, {}).settings == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"listeners": {}}'])
def test_a_file_that_is_no_ready_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(click.UsageError, match="is no ready file of kafkalite"):
        find(None, {}, path, {})


@pytest.mark.parametrize("address", ["h:9092", "h", "h:1,i:2", "[::1]:9092", "127.0.0.1:0"])
def test_an_address(address: str) -> None:
    assert find(address, {}, None, {}).bootstrap == address


@pytest.mark.parametrize("address", ["", "h:", ":9092", "h:port", "h:70000", "h:1,"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(click.UsageError, match="is no HOST:PORT"):
        find(address or " ", {}, None, {})
