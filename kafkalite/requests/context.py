"""The facts about a request that a handler may use, beside the message itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct, field

from kafkalite.requests.principal import ANONYMOUS, Principal
from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.requests.purgatory import WakeReason, Watchers
    from kafkalite.wire.api_keys import ApiKey
    from kafkalite.wire.fields import Records


# Members that one connection remembers; beyond this it forgets all of them.
_MAX_MEMBERS: Final = 1_000


class CloseConnection(Exception):
    """Raised by a handler whose only answer is to hang up; its text says why.

    `last_words` are sent before. With `reset` the client sees a connection reset (RST). The text
    is logged, unless `is_told` says that it has been.
    """

    def __init__(
        self, reason: str, last_words: bytes = b"", *, reset: bool = False, is_told: bool = False
    ) -> None:
        super().__init__(reason)
        self.last_words = last_words
        self.reset = reset
        self.is_told = is_told


class RefuseRequest(Exception):
    """Raised by a handler to refuse the whole request with one error. It takes the place of all
    other errors, those of authorization included."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


def check_time(timeout_ms: int) -> None:
    """Called before the controller decides. Raises RefuseRequest(REQUEST_TIMED_OUT)."""
    if timeout_ms <= 0:
        raise RefuseRequest(ErrorCode.REQUEST_TIMED_OUT)


class ClientConnection(Protocol):
    """The connection of a request, as far as handlers may use it."""

    async def move_to_task(self) -> None:
        """Go on in a task. A handler awaits this before it awaits anything of trio's."""
        ...

    async def yield_turn(self) -> None:
        """Let other connections, and trio, have their turn; then go on."""
        ...

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> WakeReason:
        """Wait until `done()`, the deadline (trio's clock) or, if `answer_early`, more input."""
        ...

    async def send(self, chunks: list[Records]) -> None:
        """Send at once, ahead of the response. Moves to a task. Raises OSError."""
        ...

    async def silence(self) -> None:
        """Read and throw away until the client hangs up or the broker stops. Moves to a task."""
        ...

    def mute(self, until: float) -> None:
        """Read no further request before `until` (trio's clock), once this one is answered."""
        ...

    def replace_response(self, chunks: list[Records], instead: list[Records]) -> None:
        """Send other chunks than those, which are not sent yet."""
        ...

    def hang_up(self, error: Exception) -> None:
        """Close the connection soon, for this error."""
        ...

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the connection is closed. It must not raise."""
        ...


class RequestContext(Struct):
    """The asker of a request, its API, and the listener it came by.

    There is one per connection, as a connection's requests are handled one after the other.
    Dispatch sets what differs between requests: API key and version, client id, correlation id,
    `received_at`.

    `node_id` is the node whose listener received the request. `client_id` is never None (Kafka
    treats a null client id as ""). `received_at` is in seconds of trio's clock. `may_read` says of
    a topic whether the client may fetch from it, None if it may fetch from all. `may_write`,
    `may_create` and `may_describe` say the same of producing to it, of creating and of showing it.
    `guard_of` gives the guard of a partition's first append in a transaction that another broker
    coordinates, or raises KafkaError; it is None in one process.
    `client_software` is the name and version that the client gave itself.

    Under quotas, `wait_for` measures an answer of so many bytes before it is given: the
    milliseconds for which the client has to wait and gets none, or 0. `charge` takes the client's
    tokens for so many partitions that come or go. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED).
    """

    node_id: int
    api_key: ApiKey
    api_version: int
    client_id: str
    client_host: str
    listener_name: str
    received_at: float
    connection: ClientConnection
    security_protocol: str = "PLAINTEXT"
    principal: Principal = ANONYMOUS
    request_bytes: int = 0
    may_read: Callable[[str], bool] | None = None
    may_write: Callable[[str], bool] | None = None
    may_create: Callable[[str], bool] | None = None
    may_describe: Callable[[str], bool] | None = None
    guard_of: Callable[[Any], Any] | None = None
    wait_for: Callable[[int], int] | None = None
    charge: Callable[[int], None] | None = None
    correlation_id: int = 0
    client_port: int = 0
    client_software: tuple[str, str] = ("unknown", "unknown")
    # The members of groups, by group and member id, that were heard of over this connection.
    members: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    # The fault that applies to this request, and whether the request is never answered.
    fault: str = ""
    is_silent: bool = False

    @property
    def client_address(self) -> str:
        """The client's host and port, by which people name a connection."""
        return f"{self.client_host}:{self.client_port}"

    @property
    def software(self) -> str:
        """The name and version that the client gave itself: "apache-kafka-java/4.3.1"."""
        return "/".join(self.client_software)

    def heard_of(self, group_id: str, member_id: str | None) -> None:
        """Note that a member of a group uses this connection: it lives while this is open."""
        if member_id:
            if len(self.members) >= _MAX_MEMBERS:
                self.members.clear()
            self.members.add((group_id, member_id))
