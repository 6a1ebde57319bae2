"""The loop that serves connections: one epoll, deadlines, and requests that need not wait longer.

Most requests never wait for anything; they are received, answered and sent right here, one
connection after the other, without a task. `turn` is one round of that. Its driver is in host.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import Final, Protocol

import trio

from kafkalite.group_coordinator.timers import AT_ONCE, Timer, Timers
from kafkalite.log.joined_writes import JoinedWrites
from kafkalite.requests.suspension import SuspendedRequest
from kafkalite.server.interest import Interest, new_epoll
from kafkalite.server.watchdog import Watchdog
from kafkalite.wire.api_keys import ApiKey

# Connections that are asked for at once.
_READY_AT_ONCE: Final = 64
# Connections answered before the responses are sent.
_SENT_AT_ONCE: Final = 16
# The longest time that connections are served before trio's tasks and deadlines.
_TURN_SECONDS: Final = 0.002
# Requests that waited are resumed for so long, however slow those were that have just come.
_RESUMED_SECONDS: Final = 0.001
# A request that takes longer makes its connection a slow one, until one is answered sooner.
_SLOW_SECONDS: Final = 0.0005
_LONGEST_SLEEP_SECONDS: Final = 3600.0
# Times of the host's clock and of perf_counter are not to be mixed up: this tells them apart.
_AHEAD_SECONDS: Final = 100_000.0


def host_time() -> float:
    """The time of trio's clock where trio is the loop's guest, in seconds; never goes back."""
    return perf_counter() + _AHEAD_SECONDS


class Watched(Protocol):
    """A socket's owner; see connection.py."""

    def ready(self, now: float) -> bool: ...

    def resume(self, suspended: SuspendedRequest | None) -> bool: ...

    def send_responses(self) -> None: ...

    @property
    def last_key(self) -> int: ...


class Loop:
    """Serves the connections that watch something.

    `is_hosted`: no task of trio's is running during a turn, so that coroutines can be stepped. A
    handler that awaits a trio primitive there gets an error, as it is not in a task; inside of a
    task it would put that task to sleep.
    """

    def __init__(self, *, is_hosted: bool = False) -> None:
        self.is_hosted = is_hosted
        self.watchdog = Watchdog()
        # Open while requests are answered whose responses are sent later.
        self.joined_writes = JoinedWrites()
        # The end of the turn, in seconds of perf_counter.
        self.turn_ends = inf
        # Called when there is something to do before the next socket is ready.
        self.wake: Callable[[], None] = _nothing
        # True once the guest has come to its end.
        self.is_over = False
        # The clock of trio.
        self._now: Callable[[], float] = host_time if is_hosted else trio.current_time
        self._epoll = new_epoll()
        self._watched: dict[int, Watched] = {}
        # The connection that has its turn; None between turns.
        self.serving: Watched | None = None
        self._unserved: Sequence[tuple[int, int]] = ()
        # Connections whose last request took long. They go first in every other turn.
        self._slow: set[int] = set()
        self._slow_first = False
        self._resumed: deque[tuple[Watched, SuspendedRequest | None]] = deque()
        self._called: deque[Callable[[], None]] = deque()
        self._timers = Timers(self._now, lambda: self.wake())

    def fileno(self) -> int:
        """Readable when a socket is ready."""
        return self._epoll.fileno()

    @property
    def longest_turn_seconds(self) -> float:
        """The longest time for which anything held the loop; `watchdog` says what it was."""
        return self.watchdog.longest_seconds

    @property
    def is_busy(self) -> bool:
        """True if there is something to do now, whatever the sockets say."""
        return bool(self._resumed or self._unserved or self._called)

    @property
    def next_deadline(self) -> float:
        """The latest time at which there is something to do, on trio's clock."""
        return self._timers.next_time()

    def watch(self, fileno: int, watched: Watched, interest: Interest) -> None:
        """Call `watched.ready` whenever `interest` is given, instead of what was asked before."""
        if interest is Interest.NOTHING:
            if self._watched.pop(fileno, None) is not None:
                self._epoll.unregister(fileno)
                self._slow.discard(fileno)
        elif fileno in self._watched:
            self._epoll.modify(fileno, interest)
        else:
            self._epoll.register(fileno, interest)
            self._watched[fileno] = watched

    def resume(self, watched: Watched, suspended: SuspendedRequest | None) -> None:
        """Call `watched.resume(suspended)` soon."""
        self._resumed.append((watched, suspended))
        self.wake()

    def soon(self, function: Callable[[], None]) -> None:
        """Call a function in one of the next turns."""
        self._called.append(function)
        self.wake()

    def set_timer(self, timer: Timer, deadline: float) -> None:
        """Let a timer expire at `deadline`, on trio's clock, and at no other time."""
        self._timers.set(timer, deadline - self._now())

    def poll(self, seconds: float) -> Sequence[tuple[int, int]]:
        """Wait for sockets that are ready, for a `turn`; no longer than `seconds`."""
        unserved, self._unserved = self._unserved, ()
        ready = unserved or self._epoll.poll(seconds, _READY_AT_ONCE)
        if len(ready) < 2 or not self._slow:
            return ready
        return self._in_order(ready, is_fresh=not unserved)

    def _in_order(
        self, ready: Sequence[tuple[int, int]], *, is_fresh: bool
    ) -> Sequence[tuple[int, int]]:
        """Sockets in the order in which they are served: quick ones first, or, in every other turn,
        slow ones. Others that are ready since come along, unless `ready` is fresh.

        A connection with brief requests waits for one slow request at most, however many others
        have slow ones. A slow connection waits for one turn of quick ones.
        """
        self._slow_first = not self._slow_first
        waiting = list(ready)
        if not (is_fresh or self._slow_first or len(ready) >= _READY_AT_ONCE):
            known = {fileno for fileno, _ in ready}
            since = self._epoll.poll(0, _READY_AT_ONCE)
            waiting += [each for each in since if each[0] not in known]
        slow = [each for each in waiting if each[0] in self._slow]
        quick = [each for each in waiting if each[0] not in self._slow]
        return [*slow, *quick] if self._slow_first else [*quick, *slow]

    def turn(self, ready: Sequence[tuple[int, int]]) -> None:
        """Serve what is ready and what is due, but not for much longer than a turn may take.

        The rest is left to the next turn. Responses are sent a few at a time: a client that sleeps
        on another core is woken by the first, which costs more than the request; for the next of
        its responses it is awake still, if they come soon enough.
        """
        began = perf_counter()
        self.watchdog.begin(began)
        now = self._now()
        self.turn_ends = turn_ends = began + _TURN_SECONDS
        answered: list[Watched] = []
        last: Watched | None = None
        since = began
        joined = self.joined_writes
        joined.is_open = len(ready) > 1
        for index, (fileno, _) in enumerate(ready):
            last = self.serving = self._watched.get(fileno)
            is_answered = last is not None and last.ready(now)
            before, since = since, perf_counter()
            if since - before > _SLOW_SECONDS:
                self._slow.add(fileno)
            elif is_answered and self._slow:
                self._slow.discard(fileno)
            if is_answered and last is not None:
                answered.append(last)
                if len(answered) == _SENT_AT_ONCE:
                    _send(answered)
            if since > turn_ends:
                self._unserved = ready[index + 1 :]
                break
        else:
            # There is time for all. So those that were slow once are forgotten, one in each turn.
            if self._slow:
                self._slow.pop()
        joined.is_open = False
        joined.settle()
        self.turn_ends = turn_ends = max(turn_ends, since + _RESUMED_SECONDS)
        if self._timers.next_time() <= now:
            self._timers.expire_due(AT_ONCE)
        for _ in range(len(self._called)):
            self._called.popleft()()
            if perf_counter() > turn_ends:
                break
        # Sent before the rest: these clients have waited longest, for the records just appended.
        resumed: list[Watched] = []
        for _ in range(len(self._resumed)):
            last, suspended = self._resumed.popleft()
            self.serving = last
            if last.resume(suspended):
                resumed.append(last)
                if len(resumed) == _SENT_AT_ONCE:
                    _send(resumed)
            if perf_counter() > turn_ends:
                break
        _send(resumed)
        _send(answered)
        self.serving = None
        if self.watchdog.is_late:
            self.watchdog.end(_name(last))

    def serve_with_guest(self, wanted: deque[Callable[[], object]]) -> None:
        """Take turns until `is_over`; between two of them do what trio wants to be done."""
        while True:
            for _ in range(len(wanted)):
                wanted.popleft()()
            if self.is_over:
                return
            self.turn(self.poll(0 if wanted or self.is_busy else self._seconds_to_sleep()))

    def _seconds_to_sleep(self) -> float:
        deadline = self._timers.next_time()
        if deadline == inf:
            return _LONGEST_SLEEP_SECONDS
        return min(max(deadline - self._now(), 0), _LONGEST_SLEEP_SECONDS)

    def close(self) -> None:
        self._epoll.close()


def _send(answered: list[Watched]) -> None:
    for connection in answered:
        connection.send_responses()
    answered.clear()


def _name(connection: Watched | None) -> str:
    if connection is None:
        return "the loop itself"
    try:
        return f"{connection}, {ApiKey(connection.last_key).name}"
    except ValueError:
        return f"{connection}, API key {connection.last_key}"


def _nothing() -> None:
    """Nothing is to be done."""
