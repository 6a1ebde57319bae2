"""Requests and events as they are looked at: the values of the verbs that look. No broker is
needed.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from kafkalite.control.faults.rule import Duration
from kafkalite.control.questions import NameText

Mode = Literal["off", "on", "full"]
Outcome = Literal["waiting", "answered", "none", "closed", "silent"]


class ListRequests(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Requests that came after one, so many; the last ones unless `after` is given.

    `api`, `client_id`, `topic` and `error` may be globs; `bodies`: with request and answer.
    """

    after: int | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100
    api: str | None = None
    client_id: str | None = None
    topic: str | None = None
    error: str | None = None
    bodies: bool = False


class RequestNumber(Struct, frozen=True, forbid_unknown_fields=True):
    """A request by its number."""

    seq: int


class ListEvents(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Events after one, so many; the last ones unless `after` is given. `kind` may be a glob."""

    after: int | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100
    kind: str | None = None


class Follow(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Requests, events or both, from a place on (`after`: the id of a sighting), or from now on.

    The others are as for lists; `waiting`: requests without an answer yet, too, which come again
    with it. `latest`: where more than 200 came since the last look, the latest 200 only; the others
    are counted as missed, so that following takes about 1 % of a core. It ends after `limit`.
    """

    what: Literal["all", "requests", "events"] = "all"
    after: Annotated[str, Meta(pattern="^[0-9]{1,18}-[0-9]{1,18}$")] | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    api: str | None = None
    client_id: str | None = None
    topic: str | None = None
    error: str | None = None
    kind: str | None = None
    bodies: bool = False
    waiting: bool = False
    latest: bool = False


class SetSpy(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Off, on, or "full": with whole requests, and the records of Fetch.

    `bytes` is the room for all that is kept; the oldest goes first.
    """

    mode: Mode
    bytes: Annotated[int, Meta(ge=1024)] | None = None


class SaveTrace(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`frames`: with the bytes of every request and answer that is kept."""

    frames: bool = False


class SpyView(Struct, frozen=True, kw_only=True):
    """The spy: its mode, the room that is taken, and the numbers of the first and last request."""

    mode: Mode
    bytes: int
    used_bytes: int
    requests: int
    first: int
    last: int
    events: int


class RequestView(Struct, frozen=True, kw_only=True):
    """A request and its answer. Times are in ms since the epoch, by the machine's clock. Sizes are
    those that the frames say of themselves.

    `cluster_ms` is the cluster's time when it came. `parked_ms` is how long it waited in the
    broker, a long poll for example. `errors` are those in the answer, each once, by Kafka's
    names, and `error` is the first; `fault` is the fault that was applied. `why` tells why
    there is no answer. `request` and `answer` are there where they were asked for, and
    `undecodable` says what could not be decoded, with the position. `truncated`: not all of the
    request was kept. `software` is the client's name and version, as it gave them.
    """

    seq: int
    connection: str
    client_id: str
    api: str
    version: int
    correlation_id: int
    received_ms: float
    cluster_ms: int
    answered_ms: float | None
    parked_ms: float | None
    request_bytes: int
    answer_bytes: int
    outcome: Outcome
    error: str | None
    errors: list[str]
    topics: list[str]
    fault: str | None
    why: str
    request: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    undecodable: str | None = None
    truncated: bool = False
    software: str = ""
    node: int = 0
    listener: str = ""


class EventView(Struct, frozen=True, kw_only=True):
    """A change of state: when, by the machine's clock and the cluster's, what, of what, and why."""

    seq: int
    at_ms: float
    cluster_ms: int
    kind: str
    about: dict[str, str | int]
    why: str


class Sighting(Struct, frozen=True, kw_only=True):
    """One request or one event as it comes; or how many are no longer kept (`missed`).

    `id` is the place to go on from.
    """

    id: str
    request: RequestView | None = None
    event: EventView | None = None
    missed: int = 0

    @property
    def kind(self) -> str:
        """The name of what it has: "request", "event" or "missed"."""
        return "request" if self.request else "event" if self.event else "missed"


class CountTraffic(Struct, frozen=True, forbid_unknown_fields=True):
    """Says for how long requests are counted."""

    over: Duration = "1s"


class TrafficView(Struct, frozen=True, kw_only=True):
    """Requests in so many seconds, in all and by API, and the bytes of frames in both ways."""

    seconds: float
    requests: int
    request_bytes: int
    answer_bytes: int
    apis: dict[str, int]


class TraceFile(Struct, frozen=True):
    """A ZIP file: meta.json, events.jsonl, requests.jsonl, and frames.bin if asked for."""

    content_type: ClassVar[str] = "application/zip"
    data: bytes


class ArchiveFile(Struct, frozen=True):
    """A tar file of a data directory in Apache Kafka's layout."""

    content_type: ClassVar[str] = "application/x-tar"
    data: bytes


class ImportSnapshot(Struct, frozen=True, forbid_unknown_fields=True):
    """A name for a snapshot, and the tar file to make it of. Over HTTP the file is the body."""

    upload: ClassVar[str] = "application/x-tar"
    snapshot: NameText
    file: str


class RecordingFile(Struct, frozen=True):
    """A ZIP file of a recording: the data at its beginning, and all frames since."""

    content_type: ClassVar[str] = "application/zip"
    data: bytes


class RecordingView(Struct, frozen=True):
    """A recording that goes on: requests so far, and the room they take."""

    requests: int
    bytes: int


class Difference(Struct, frozen=True):
    """A place where an answer of a replay is not the recorded one. `seq` counts requests."""

    seq: int
    api: str
    path: str
    how: str


class Replayed(Struct, frozen=True):
    """Says what came of a replay; there is no difference where all is as it was."""

    requests: int
    answers: int
    differences: list[Difference]


File = TraceFile | ArchiveFile | RecordingFile
