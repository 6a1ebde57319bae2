"""A recording told again to a broker in this loop (test_replay.py of the client has real ones)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from kafkalite.control.recording import ANSWERED, Recording, read
from kafkalite.control.replay import even_out, replay
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.metadata import MetadataRequest


async def recorded(broker: test_broker, connect: Any) -> Recording:
    k: Any = broker.asynchronous
    await k.create_topic("t")
    await k.ask("recording.start")
    client = await connect(broker)
    await client.ask(MetadataRequest(topics=None), 12)
    await client.ask(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4)
    saved = await k.ask("recording.save")
    return read(saved.data)


async def test_the_same_frames_have_the_same_answers(
    broker: test_broker, connect: Any, tmp_path: Path
) -> None:
    told = await replay(await recorded(broker, connect), tmp_path / "a")
    assert (told.requests, told.answers, told.differences) == (2, 2, [])


async def test_an_answer_that_is_another_one_is_told(
    broker: test_broker, connect: Any, tmp_path: Path
) -> None:
    recording = await recorded(broker, connect)
    *others, last = recording.tape
    assert last.kind == ANSWERED
    spoilt = last._replace(frame=last.frame[:-3] + b"\0\x07\0")
    recording.tape[:] = [*others, spoilt]
    told = await replay(recording, tmp_path / "b")
    (found,) = told.differences
    assert (found.seq, found.api, found.path) == (2, "Heartbeat", "error_code")
    assert found.how == "7, and now 16"
    assert msgspec.to_builtins(told)["differences"][0]["seq"] == 2


async def test_no_answer_is_a_difference(broker: test_broker, connect: Any, tmp_path: Path) -> None:
    recording = await recorded(broker, connect)
    frame = b"\x7f\xff" + recording.tape[-2].frame[2:]  # an API that does not exist
    recording.tape[-2] = recording.tape[-2]._replace(frame=frame)
    told = await replay(recording, tmp_path / "c")
    assert [each.how for each in told.differences] == ["no answer now"]


def fetched(*values: str, end: int) -> dict[str, Any]:
    partition = {
        "high_watermark": end,
        "last_stable_offset": end,
        "aborted_transactions": [],
        "records": list(values) or None,
    }
    return {"responses": [{"partitions": [partition]}]}


def test_a_fetch_that_waited_has_what_had_come_until_then() -> None:
    one, other = fetched("a", "b", end=2), fetched("a", end=1)
    even_out(one, other)
    assert one["responses"][0]["partitions"][0]["records"] == ["a"]
    one["responses"][0]["partitions"][0]["high_watermark"] = 2
    assert other == one
    one, other = fetched("a", end=1), fetched("b", end=1)
    even_out(one, other)
    assert one != other
