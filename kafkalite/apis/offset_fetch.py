"""OffsetFetch: how far groups have read.

v2 may ask for all topics (null), v7 to wait for transactions (KIP-447), v8 for several groups
(KIP-709), v9 names the member (KIP-848), v10 topics by id. Before v8 there is one group, and the
same answer in another form.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.slices import (
    Steps,
    at_once,
    batches,
    large_response,
    let_go,
    mapped,
    mapped_in_steps,
    release,
)
from kafkalite.wire.api_keys import OFFSET_FETCH_BATCHED_SINCE, OFFSET_FETCH_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequestGroupRow,
    OffsetFetchRequestRow,
    OffsetFetchRequestTopicRow,
    OffsetFetchRequestTopicsRow,
    OffsetFetchResponseGroupRow,
    OffsetFetchResponsePartitionsRow,
    OffsetFetchResponseRow,
    OffsetFetchResponseTopicRow,
    OffsetFetchResponseTopicsRow,
)
from kafkalite.wire.rows import LargeResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

GROUP_ERROR_SINCE: Final = 2

_NO_OFFSET: Final = -1
_NO_EPOCH: Final = -1


# More partitions or topics than this are looked up in slices of so many.
_AT_ONCE: Final = 1000
# A group's id of 32 KB takes two milliseconds, as long as a thousand partitions.
_MOST_BYTES_AT_ONCE: Final = 65_536
# Topics whose names are looked up in one go.
_NAMED_AT_ONCE: Final = 64


def handle(
    services: Services, context: RequestContext, request: OffsetFetchRequestRow
) -> OffsetFetchResponseRow | Coroutine[Any, Any, LargeResponse]:
    """Answer for each group."""
    steps = _response(services, context, request)
    if context.request_bytes > _MOST_BYTES_AT_ONCE or _size(request) > _AT_ONCE:
        return large_response(steps, context)
    return at_once(steps)


def _size(request: OffsetFetchRequestRow) -> int:
    """Groups, topics and partitions that are asked for, or more than are looked up at once."""
    _, topics, groups, _ = request
    size = len(groups)
    for wanted in (topics, *[group[3] for group in groups]):
        if wanted:
            size += len(wanted)
            if size > _AT_ONCE:
                return size
            for topic in wanted:
                size += len(topic[-1])
    return size


def _response(
    services: Services, context: RequestContext, request: OffsetFetchRequestRow
) -> Steps[OffsetFetchResponseRow]:
    group_id, topics, groups, require_stable = request
    if context.api_version >= OFFSET_FETCH_BATCHED_SINCE:
        answers: list[OffsetFetchResponseGroupRow] = []
        for group in groups:
            answers.append((yield from _fetch(services, context, group, require_stable)))
            yield
        return 0, (), 0, answers
    wanted: list[OffsetFetchRequestTopicsRow] | None = None
    if topics is not None:
        wanted = yield from mapped(_with_no_id, topics)
    group = (group_id, None, _NO_EPOCH, wanted)
    _, found, code = yield from _fetch(services, context, group, require_stable)
    if code and context.api_version < GROUP_ERROR_SINCE:
        # No place for the group's error but each partition.
        found = yield from mapped_in_steps(partial(_failed, code=code), wanted or ())
    told = yield from mapped(_without_id, found)
    letting_go = release([found, wanted])
    del found, wanted, group
    yield from letting_go
    return 0, told, code, ()


def _with_no_id(topic: OffsetFetchRequestTopicRow) -> OffsetFetchRequestTopicsRow:
    return topic[0], NO_UUID, topic[1]


def _without_id(topic: OffsetFetchResponseTopicsRow) -> OffsetFetchResponseTopicRow:
    return topic[0], topic[2]


def _fetch(
    services: Services,
    context: RequestContext,
    group: OffsetFetchRequestGroupRow,
    require_stable: bool,
) -> Steps[OffsetFetchResponseGroupRow]:
    router = services.group_coordinator.offset_router
    group_id, member_id, member_epoch, wanted = group
    uses_topic_ids = context.api_version >= OFFSET_FETCH_BY_ID_SINCE
    unknown: list[OffsetFetchResponseTopicsRow] = []
    named: Sequence[OffsetFetchRequestTopicsRow] = wanted or ()
    if uses_topic_ids:
        named = yield from _by_name(services, named, unknown)
    found: list[OffsetFetchResponseTopicsRow] = []
    code = 0
    for piece in [None] if wanted is None else _pieces(named):
        _, topics, code = router.fetch(
            context, (group_id, member_id, member_epoch, piece), require_stable=require_stable
        )
        if code:
            break
        found += topics
        yield
    if code:
        letting_go = let_go(named, unknown)
        del named, unknown
        yield from letting_go
        return group_id, (), code
    if wanted is None:
        # Topics that are gone cannot be spoken of by id.
        return group_id, [topic for topic in found if topic[1].int or not uses_topic_ids], 0
    if len(found) != len(named):
        found = yield from _joined(named, found)
    return group_id, [*found, *unknown], 0


def _by_name(
    services: Services,
    wanted: Sequence[OffsetFetchRequestTopicsRow],
    unknown: list[OffsetFetchResponseTopicsRow],
) -> Steps[list[OffsetFetchRequestTopicsRow]]:
    """The topics with their names. Topics that do not exist are refused, and go to `unknown`."""
    named: list[OffsetFetchRequestTopicsRow] = []
    by_id = services.topics.by_id
    for topic in wanted:
        found = by_id(topic[1])
        if found is None:
            unknown.append((yield from _failed(topic, ErrorCode.UNKNOWN_TOPIC_ID)))
            continue
        # The id that offsets were committed with: it is the same object, which is told quickly.
        named.append((found.name, found.topic_id, topic[2]))
        if not len(named) % _NAMED_AT_ONCE:
            yield
    return named


def _pieces(
    topics: Sequence[OffsetFetchRequestTopicsRow],
) -> Iterator[list[OffsetFetchRequestTopicsRow]]:
    """The topics a few at a time, and large ones in parts. The first piece may be empty: a group
    that is asked for nothing is looked up all the same."""
    if len(topics) < _NAMED_AT_ONCE and sum([len(topic[2]) for topic in topics]) < _AT_ONCE:
        yield [*topics]
        return
    piece: list[OffsetFetchRequestTopicsRow] = []
    size = 0
    for name, topic_id, partitions in topics:
        for start in range(0, len(partitions) or 1, _AT_ONCE):
            some = partitions[start : start + _AT_ONCE]
            if size + len(some) >= _AT_ONCE and piece:
                yield piece
                piece, size = [], 0
            piece.append((name, topic_id, some))
            size += len(some) + 1
    yield piece


def _joined(
    wanted: Sequence[OffsetFetchRequestTopicsRow], found: Sequence[OffsetFetchResponseTopicsRow]
) -> Steps[list[OffsetFetchResponseTopicsRow]]:
    """The topics as they were asked for, put together of their parts."""
    parts = iter(found)
    whole: list[OffsetFetchResponseTopicsRow] = []
    for name, topic_id, partitions in wanted:
        rows = [*next(parts)[2]]
        while len(rows) < len(partitions):
            rows += next(parts)[2]
            yield
        whole.append((name, topic_id, rows))
        yield
    return whole


def _failed(topic: OffsetFetchRequestTopicsRow, code: int) -> Steps[OffsetFetchResponseTopicsRow]:
    name, topic_id, partitions = topic
    rows: list[OffsetFetchResponsePartitionsRow] = []
    for some in batches(partitions):
        rows += [refused_offset(partition, code) for partition in some]
        yield
    return name, topic_id, rows


def refused_offset(partition: int, code: int) -> OffsetFetchResponsePartitionsRow:
    """A partition whose offset is not told."""
    return partition, _NO_OFFSET, _NO_EPOCH, "", code
