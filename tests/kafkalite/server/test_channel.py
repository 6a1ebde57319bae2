"""The core of a connection: every event in every state, and what is made of input."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.requests import suspension
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.suspension import ResponseCoroutine, SuspendedRequest
from kafkalite.server.channel import TRANSITIONS, Channel, ChannelEvent, ChannelState
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import PRODUCE, framed
from tests.kafkalite.server.drawn_states import drawn

S = ChannelState


@pytest.mark.parametrize("event", ChannelEvent, ids=lambda each: each.name)
@pytest.mark.parametrize("state", ChannelState, ids=lambda each: each.name)
def test_every_event_in_every_state(state: ChannelState, event: ChannelEvent) -> None:
    """It goes where the drawn table says, and an event that has no place there is refused."""
    channel = new()
    channel.state = state
    target = drawn()[state.name, event.name]
    if not target:
        with pytest.raises(KeyError):
            channel.happened(event)
        assert channel.state is state
    else:
        channel.happened(event)
        assert channel.state.name == target


def test_each_state_can_be_reached_and_left() -> None:
    reached = {target for events in TRANSITIONS.values() for target in events.values()}
    assert reached == set(ChannelState)
    assert [state for state in ChannelState if not TRANSITIONS[state]] == [S.CLOSED]


def echo(frame: InMemory) -> list[Records]:
    return [framed(bytes(frame))]


def new(
    respond: Callable[[InMemory], list[Records] | ResponseCoroutine] = echo,
    *,
    steps_coroutines: bool = True,
    now: Callable[[], float] = lambda: 0.0,
) -> Channel:
    return Channel(1 << 20, respond, now, steps_coroutines=steps_coroutines)


def fed(channel: Channel, *frames: bytes, turn_ends: float = inf) -> Channel:
    channel.reader.feed(framed(*frames))
    channel.answer(turn_ends)
    return channel


def written(channel: Channel) -> bytes:
    return b"".join(bytes(chunk) for chunk in channel.take_output())


def test_frames_are_answered_in_order() -> None:
    channel = fed(new(), b"\0\0a", b"\0\1b")
    assert written(channel) == framed(b"\0\0a", b"\0\1b")
    assert channel.state is S.READING
    assert channel.last_key == 1


def test_much_output_is_to_be_sent_before_more_is_answered() -> None:
    channel = new(lambda frame: [bytes(70_000)])
    channel.reader.feed(framed(PRODUCE, PRODUCE))
    assert channel.answer(inf)
    assert len(written(channel)) == 70_000
    assert channel.answer(inf)
    assert len(written(channel)) == 70_000
    assert not channel.answer(inf)


def test_a_turn_that_is_over_mutes_while_frames_are_left() -> None:
    channel = fed(new(), b"\0\0a", b"\0\0b", turn_ends=0)
    assert channel.state is S.MUTED
    assert written(channel) == framed(b"\0\0a")
    channel.resume()
    channel.answer(0)
    assert channel.state is S.READING
    assert written(channel) == framed(b"\0\0b")


def test_a_throttled_client_is_muted_until_its_time() -> None:
    seconds = 0.0

    def throttle(frame: InMemory) -> list[Records]:
        channel.muted_until = 5.0
        return echo(frame)

    channel = new(throttle, now=lambda: seconds)
    fed(channel, b"\0\0a", b"\0\0b")
    assert (channel.state, written(channel)) == (S.MUTED, framed(b"\0\0a"))
    seconds = 4.0
    channel.resume()
    channel.answer(inf)
    assert (channel.state, written(channel)) == (S.MUTED, b"")
    seconds = 5.0
    channel.resume()
    channel.respond = echo
    channel.answer(inf)
    assert (channel.state, written(channel)) == (S.READING, framed(b"\0\0b"))


@pytest.mark.parametrize(
    ("wait", "state"),
    [
        (suspension.move_to_task, S.IN_TASK),
        (suspension.yield_turn, S.HELD),
        (lambda: suspended(answer_early=True).wait([Watchers()]), S.PARKED),
        (lambda: suspended(answer_early=False).wait([Watchers()]), S.HELD),
    ],
)
def test_a_coroutine_that_waits(wait: Callable[[], ResponseCoroutine], state: ChannelState) -> None:
    async def respond(frame: InMemory) -> list[Records]:
        await wait()
        return echo(frame)

    channel = fed(new(respond), b"\0\0a", b"\0\0b")
    assert (channel.state, written(channel)) == (state, b"")
    assert channel.coroutine is not None
    if state is not S.IN_TASK:
        channel.resume()
        assert (channel.state, written(channel)) == (S.READING, framed(b"\0\0a"))
    channel.close()


def suspended(*, answer_early: bool) -> SuspendedRequest:
    return SuspendedRequest(lambda: False, inf, lambda _: None, answer_early=answer_early)


def test_a_coroutine_is_left_to_a_task_where_it_must_not_be_stepped() -> None:
    begun = False

    async def respond(frame: InMemory) -> list[Records]:
        nonlocal begun
        begun = True
        return echo(frame)

    channel = fed(new(respond, steps_coroutines=False), b"\0\0a")
    assert channel.state is S.IN_TASK
    assert not begun
    channel.close()


def test_a_coroutine_that_waits_for_anything_else_is_closed() -> None:
    closed = False

    class Stray:
        def __await__(self):
            yield self

    async def respond(frame: InMemory) -> list[Records]:
        nonlocal closed
        try:
            await Stray()
        finally:
            closed = True
        return []

    channel = new(respond)
    with pytest.raises(RuntimeError, match=r"before move_to_task\(\)"):
        fed(channel, b"\0\0a")
    assert closed
    assert channel.coroutine is None


def test_the_end_comes_after_what_was_received() -> None:
    channel = new()
    channel.is_ending = True
    fed(channel, b"\0\0a", b"\0\0b")
    assert channel.state is S.CLOSING
    assert written(channel) == framed(b"\0\0a", b"\0\0b")


def test_the_end_does_not_wait_until_a_throttled_client_may_send_again() -> None:
    def throttle(frame: InMemory) -> list[Records]:
        channel.muted_until = 5.0
        return echo(frame)

    channel = new(throttle, now=lambda: 0.0)
    channel.is_ending = True
    fed(channel, b"\0\0a", b"\0\0b")
    assert (channel.state, written(channel)) == (S.CLOSING, framed(b"\0\0a"))


def test_nothing_is_answered_after_the_end() -> None:
    channel = new()
    channel.reader.feed(framed(b"\0\0a"))
    channel.end()
    assert channel.reader.next_frame() is None


def test_bad_input_leaves_the_responses_before_it() -> None:
    channel = new()
    channel.reader.feed(framed(b"\0\0a") + b"\xff" * 4)
    with pytest.raises(ProtocolViolation):
        channel.answer(inf)
    assert written(channel) == framed(b"\0\0a")
    assert channel.state is S.READING


def test_closing_lets_go_of_files_and_of_the_request_that_waits(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(bytes(100_000))
    file = LogFile(path.parent, path.name, OpenFiles())
    left = False

    async def wait(frame: InMemory) -> list[Records]:
        nonlocal left
        try:
            await suspension.move_to_task()
        finally:
            left = True
        return []

    answers: list[list[Records] | ResponseCoroutine] = [[FileSlice(file, 0, 100_000)], wait(b"")]

    def respond(frame: InMemory) -> list[Records] | ResponseCoroutine:
        return answers.pop(0)

    responder = weakref.ref(respond)
    channel = fed(new(respond), b"\0\0a")
    fed(channel, b"\0\0b")
    del respond
    assert file.in_use
    channel.close()
    assert not file.in_use
    assert left
    assert (channel.state, channel.coroutine) == (S.CLOSED, None)
    assert responder() is None
    file.close()
