"""A trace: a ZIP file of lines of JSON, without secrets."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from kafkalite.control.spy.trace import FRAME_HEAD
from kafkalite.faults import drop
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced


def unzipped(k: broker, **fields: Any) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(k.ask("trace.save", **fields).data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_all_that_is_known_is_in_it(k: broker) -> None:
    k.create_topic("t")
    k.ask("spy.set", mode="on")
    k.fault("Produce", do=drop.after)
    assert produced(k, "t", b"payload") == [None]
    k.ask("spy.set", mode="off")
    files = unzipped(k)
    assert sorted(files) == ["events.jsonl", "meta.json", "requests.jsonl"]
    meta = json.loads(files["meta.json"])
    assert [each["applied"] for each in meta["faults"]] == [1]
    requests = [json.loads(line) for line in files["requests.jsonl"].splitlines()]
    outcomes = [each["outcome"] for each in requests if each["api"] == "Produce"]
    assert outcomes == ["closed", "answered"]
    assert "payload" in str(requests)
    events = [json.loads(line)["kind"] for line in files["events.jsonl"].splitlines()]
    assert "fault.applied" in events


def test_frames_are_there_if_asked_for(k: broker) -> None:
    k.create_topic("t")
    k.ask("spy.set", mode="full")
    assert produced(k) == [None]
    k.ask("spy.set", mode="off")
    data = unzipped(k, frames=True)["frames.bin"]
    position, sizes = 0, []
    while position < len(data):
        seq, request, answer = FRAME_HEAD.unpack_from(data, position)
        position += FRAME_HEAD.size + request + answer
        sizes.append((seq, request, answer))
    assert position == len(data)
    listed = k.ask("requests.list", limit=10_000)
    assert sizes == [(each.seq, each.request_bytes, each.answer_bytes) for each in listed]


def test_secrets_are_not_in_it() -> None:
    configs = {"ssl.keystore.password": "hush-hush", "num.partitions": "3"}
    with broker(configs) as k:
        text = unzipped(k)["meta.json"].decode()
    assert "hush-hush" not in text
    assert json.loads(text)["configs"]["num.partitions"] == "3"
