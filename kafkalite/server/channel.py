"""A connection without its socket: bytes in, chunks out, and the state as a table.

Frames are answered one at a time and in order, as Kafka does: nothing on a connection overtakes
anything. A response is made at once, or by a coroutine that is stepped here up to the first thing
that it has to wait for (requests/suspension.py).

    READING       between requests, input is answered as it comes
    WRITING       the client does not take the responses yet, no input is read
    PARKED        a request waits in the loop, more input ends its wait
    HELD          a request waits in the loop, input waits, too
    MUTED         no request waits, input does: the client is throttled, others have their turn, or
                  there is no memory for a large frame
    IN_TASK       a task makes and sends the response, and may await anything
    TASK_PARKED   a request waits in a task, more input ends its wait
    CLOSING       no more requests, the responses are sent, then the connection is closed
    CLOSED        the end
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING, Final

from kafkalite.log.open_files import close_slices
from kafkalite.requests.suspension import ResponseCoroutine, Step, SuspendedRequest
from kafkalite.server.frame_reader import FrameReader
from kafkalite.wire.fields import InMemory, Records

if TYPE_CHECKING:
    from collections.abc import Mapping

# Responses gathered beyond this are sent before the next request is looked at.
_GATHER_BYTES: Final = 65536


Respond = Callable[[InMemory], list[Records] | ResponseCoroutine]


# Integers, as their hashes are computed in C.
class ChannelState(IntEnum):
    """The states that the module's text explains."""

    READING = 0
    WRITING = 1
    PARKED = 2
    HELD = 3
    MUTED = 4
    IN_TASK = 5
    TASK_PARKED = 6
    CLOSING = 7
    CLOSED = 8


class ChannelEvent(IntEnum):
    """The events in a connection's life."""

    BLOCK = 0  # the socket takes no more
    SENT = 1  # all responses are sent
    PARK = 2  # a request begins to wait, until more input at the latest
    HOLD = 3  # a request begins to wait, whatever else comes
    MUTE = 4  # no request is to be read for now
    RESUME = 5  # the wait is over
    MOVE_TO_TASK = 6  # a request, or sending its response, needs a task
    TASK_DONE = 7  # the task has sent the response
    END = 8  # no further request is wanted
    CLOSE = 9  # everything is to be let go


_S, _E = ChannelState, ChannelEvent

# Any other event is a mistake of ours, and raises KeyError.
TRANSITIONS: Final[Mapping[ChannelState, Mapping[ChannelEvent, ChannelState]]] = {
    _S.READING: {
        _E.BLOCK: _S.WRITING,
        _E.PARK: _S.PARKED,
        _E.HOLD: _S.HELD,
        _E.MUTE: _S.MUTED,
        _E.MOVE_TO_TASK: _S.IN_TASK,
        _E.END: _S.CLOSING,
        _E.CLOSE: _S.CLOSED,
    },
    _S.WRITING: {
        _E.BLOCK: _S.WRITING,
        _E.SENT: _S.READING,
        _E.MOVE_TO_TASK: _S.IN_TASK,
        _E.END: _S.CLOSING,
        _E.CLOSE: _S.CLOSED,
    },
    # A task sends what the client does not take yet, and then waits in the request's place.
    _S.PARKED: {
        _E.BLOCK: _S.IN_TASK,
        _E.RESUME: _S.READING,
        _E.MOVE_TO_TASK: _S.IN_TASK,
        _E.CLOSE: _S.CLOSED,
    },
    _S.HELD: {
        _E.BLOCK: _S.IN_TASK,
        _E.RESUME: _S.READING,
        _E.MOVE_TO_TASK: _S.IN_TASK,
        _E.CLOSE: _S.CLOSED,
    },
    _S.MUTED: {
        _E.BLOCK: _S.WRITING,
        _E.RESUME: _S.READING,
        _E.MOVE_TO_TASK: _S.IN_TASK,
        _E.END: _S.CLOSING,
        _E.CLOSE: _S.CLOSED,
    },
    _S.IN_TASK: {
        _E.PARK: _S.TASK_PARKED,
        _E.TASK_DONE: _S.READING,
        _E.CLOSE: _S.CLOSED,
    },
    _S.TASK_PARKED: {
        _E.RESUME: _S.IN_TASK,
        _E.CLOSE: _S.CLOSED,
    },
    _S.CLOSING: {
        _E.BLOCK: _S.CLOSING,
        _E.MOVE_TO_TASK: _S.IN_TASK,
        _E.CLOSE: _S.CLOSED,
    },
    _S.CLOSED: {},
}


class Channel:
    """The state of one connection, its input, its output, and the request that waits.

    `respond` answers a frame: with chunks, or by a coroutine that returns them. Without
    `steps_coroutines` each coroutine is left to a task from its beginning. `now` is the clock of
    deadlines, in seconds.
    """

    __slots__ = (
        "_now",
        "_steps_coroutines",
        "coroutine",
        "is_ending",
        "last_key",
        "muted_until",
        "output",
        "reader",
        "respond",
        "state",
        "suspended",
    )

    def __init__(
        self,
        max_frame_bytes: int,
        respond: Respond,
        now: Callable[[], float],
        *,
        steps_coroutines: bool,
    ) -> None:
        self.state = ChannelState.READING
        self.reader = FrameReader(max_frame_bytes)
        self.output: list[Records] = []
        # The request that waits: its coroutine, and its condition if it has one.
        self.coroutine: ResponseCoroutine | None = None
        self.suspended: SuspendedRequest | None = None
        # On the scale of `now`; 0: the client is not throttled.
        self.muted_until = 0.0
        # No more input is wanted: what was received is answered, then the connection closes.
        self.is_ending = False
        # The API key of the last request, for the log.
        self.last_key = -1
        self.respond = respond
        self._now = now
        self._steps_coroutines = steps_coroutines

    def happened(self, event: ChannelEvent) -> None:
        """Go to the state that the table says."""
        self.state = TRANSITIONS[self.state][event]

    def answer(self, turn_ends: float) -> bool:
        """Answer the frames received, while READING. True: send the responses, then call again.

        `turn_ends` is when others are to have their turn, in seconds of `perf_counter`. Raises
        ProtocolViolation, and anything that a handler raises.
        """
        next_frame, output = self.reader.next_frame, self.output
        size = 0
        if self.is_throttled():
            return False
        while (frame := next_frame()) is not None:
            self.last_key = frame[1] if len(frame) > 1 else -1
            response = self.respond(frame)
            if not isinstance(response, list):
                stepped = self._begin(response)
                if stepped is None:
                    return False
                response = stepped
            if len(response) == 1 and type(response[0]) is bytes:  # nearly always
                output.append(response[0])
                size += len(response[0])
            else:
                size += self.gather(response)
            if self.muted_until and self.is_throttled():
                return False
            if size > _GATHER_BYTES:
                return True
            if perf_counter() > turn_ends and self.reader.has_input:
                self.happened(ChannelEvent.MUTE)
                return False
        if self.is_ending:
            self.end()
        elif self.reader.waits_for_memory:
            self.happened(ChannelEvent.MUTE)
        return False

    def resume(self) -> None:
        """Go on with the request that waits, or with reading. Raises what its handler raises."""
        self.happened(ChannelEvent.RESUME)
        coroutine, self.coroutine, self.suspended = self.coroutine, None, None
        if coroutine is not None:
            response = self._step(coroutine)
            if response is not None:
                self.gather(response)

    def end(self) -> None:
        """Answer no further request, whatever was received."""
        self.is_ending = True
        self.reader.discard()
        self.happened(ChannelEvent.END)

    def gather(self, response: list[Records]) -> int:
        """Queue a response after those that are to be sent; its size in bytes."""
        self.output += response
        return sum(map(len, response))

    def take_output(self) -> list[Records]:
        """The chunks to send; the channel has none then."""
        output, self.output = self.output, []
        return output

    def take_coroutine(self) -> ResponseCoroutine | None:
        """The coroutine that is to go on in a task; the channel has none then."""
        coroutine, self.coroutine, self.suspended = self.coroutine, None, None
        return coroutine

    def close(self) -> None:
        """Let everything go: files, memory, the request that waits."""
        self.happened(ChannelEvent.CLOSE)
        close_slices(self.take_output())
        self.reader.discard()
        self.respond = _closed  # the other one refers to the connection
        coroutine = self.take_coroutine()
        if coroutine is not None:
            coroutine.close()

    def is_throttled(self) -> bool:
        """True if no request is to be answered now. The state is MUTED then, or it is the end."""
        if not self.muted_until:
            return False
        if self._now() < self.muted_until:
            if self.is_ending:
                self.end()
            else:
                self.happened(ChannelEvent.MUTE)
            return True
        self.muted_until = 0.0
        return False

    def _begin(self, coroutine: ResponseCoroutine) -> list[Records] | None:
        if self._steps_coroutines:
            return self._step(coroutine)
        self.coroutine = coroutine
        self.happened(ChannelEvent.MOVE_TO_TASK)
        return None

    def _step(self, coroutine: ResponseCoroutine) -> list[Records] | None:
        """The response; None if the coroutine waits, as the state says."""
        try:
            wanted = coroutine.send(None)
        except StopIteration as done:
            response: list[Records] = done.value
            return response
        if isinstance(wanted, SuspendedRequest):
            self.suspended = wanted
            event = ChannelEvent.PARK if wanted.answer_early else ChannelEvent.HOLD
        elif wanted is Step.NEEDS_TASK:
            event = ChannelEvent.MOVE_TO_TASK
        elif wanted is Step.YIELDS_TURN:
            event = ChannelEvent.HOLD
        else:
            coroutine.close()
            raise RuntimeError(f"a handler awaited {wanted!r} before move_to_task()")
        self.coroutine = coroutine
        self.happened(event)
        return None


def _closed(frame: InMemory) -> list[Records]:
    raise RuntimeError("a closed connection answers nothing")
