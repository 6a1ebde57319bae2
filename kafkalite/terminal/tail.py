"""`kafkalite tail`: the last records of a topic, those since a time, and those that come.

Records that were there are put in the order of their timestamps, unless there are so many that
they would not fit into memory. Those that come are shown as they are received.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain, islice
from typing import Final

import click
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from kafkalite.control.durations import milliseconds
from kafkalite.control.problems import Problem
from kafkalite.terminal import offsets
from kafkalite.terminal.kafka import Kafka, Refused, refused
from kafkalite.terminal.offsets import Place
from kafkalite.terminal.options import asks_kafka, topic_argument
from kafkalite.terminal.output import Output
from kafkalite.terminal.records import as_row, as_text

# Offsets by partition: the first one wanted, and the one behind the last.
Ranges = Mapping[Place, tuple[int, int]]

_LINES: Final = 10
# The words of kcat, kafka-console-consumer.sh and rpk for the first offset and the end.
_BEGINNING: Final = frozenset({"beginning", "earliest", "start"})
_END: Final = frozenset({"end", "latest"})
# Fewer digits are no time of this century in ms.
_LEAST_DIGITS_OF_MS: Final = 12
_POLL_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 30.0
_AT_ONCE: Final = 500
_SORTED_AT_MOST: Final = 100_000
# The last records are looked for in so many times the offsets, again and again: markers of
# transactions and gaps of compaction have offsets, too.
_WIDER: Final = 8


@click.command("tail")
@topic_argument
@click.option(
    "-n",
    "--lines",
    metavar="N",
    help=f"The last N records, or all; {_LINES} unless it is told where to begin.",
)
@click.option("--since", metavar="TIME", help="Those not older: 5m, 2h, 2026-11-22T14:05.")
@click.option(
    "-o", "--offset", metavar="OFFSET", help="From an offset on: beginning, end, 42, -5, @TIME."
)
@click.option("--from-beginning", is_flag=True, help="The same as -o beginning.")
@click.option("-c", "--max-messages", type=click.IntRange(1), help="End after so many records.")
@click.option("-f", "--follow", is_flag=True, help="Go on with those that come, until Ctrl-C.")
@click.option("-p", "--partition", "partitions", type=int, multiple=True, help="Only these.")
@asks_kafka
def tail(
    kafka: Kafka,
    out: Output,
    topic: str,
    lines: str | None,
    since: str | None,
    offset: str | None,
    from_beginning: bool,
    max_messages: int | None,
    follow: bool,
    partitions: tuple[int, ...],
) -> None:
    """Show the last records of a topic.

    Records of transactions that are open or aborted are left out, unless
    -X isolation.level=read_uncommitted asks for them.
    """
    moment, start = beginning(since, offset, from_beginning=from_beginning)
    most = wanted_count(lines, is_from_somewhere=moment is not None or start is not None)
    places = [(topic, index) for index in _wanted(kafka, topic, partitions)]
    ranges = _ranges(kafka, out, places, moment, start)
    consumer = kafka.consumer()
    try:
        found = last(consumer, out, ranges, most)
        if follow:
            ends = {place: end for place, (_, end) in ranges.items()}
            found = chain(found, following(consumer, ends))
        for message in islice(found, max_messages):
            _show(out, message)
    except KeyboardInterrupt:
        return
    finally:
        consumer.close()


def wanted_count(lines: str | None, *, is_from_somewhere: bool) -> int | None:
    """The most records to show, None for all. Raises click.UsageError."""
    if lines is None:
        return None if is_from_somewhere else _LINES
    if lines == "all":
        return None
    if not lines.isdigit():
        raise click.UsageError(f"-n {lines}: it is a number of records, or all")
    return int(lines)


def beginning(
    since: str | None, offset: str | None, *, from_beginning: bool
) -> tuple[int | None, int | None]:
    """The time in ms or the offset to begin with; neither for the last records.

    Raises click.UsageError.
    """
    said = [text for text in (since, offset, "beginning" if from_beginning else None) if text]
    if len(said) > 1:
        raise click.UsageError("--since, --offset and --from-beginning exclude each other")
    if since is not None:
        return moment_ms(since, "--since"), None
    if not said:
        return None, None
    [text] = said
    before, is_moment, after = text.partition("@")
    if is_moment and before in ("", "s"):
        return moment_ms(after, f"-o {before}@"), None
    return None, first_offset(text)


def moment_ms(text: str, flag: str) -> int:
    """A time in ms since 1970: as such, so long ago ("5m", "-5m"), or as ISO 8601 has it.

    Raises click.UsageError, which names the flag.
    """
    if text.isdecimal() and len(text) >= _LEAST_DIGITS_OF_MS:
        return int(text)
    try:
        return round(time.time() * 1000) - abs(milliseconds(text))
    except Problem:
        pass
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise click.UsageError(
            f"{flag} {text}: it is a duration (5m, 2h, 7d) or a time (2026-11-22T14:05)"
        ) from None


def first_offset(text: str) -> int:
    """An offset to begin with; so many before the end if negative. Raises click.UsageError."""
    if text in _BEGINNING:
        return 0
    if text in _END:
        return sys.maxsize
    if not text.removeprefix("-").isdecimal():
        raise click.UsageError(
            f"-o {text}: it is beginning, end, an offset (42), so many before the end (-5) "
            "or a time (@5m, @2026-11-22T14:05)"
        )
    return int(text)


def _wanted(kafka: Kafka, topic: str, partitions: tuple[int, ...]) -> list[int]:
    known = kafka.partitions_of(topic)
    for index in partitions:
        if index not in known:
            raise Refused(f"topic {topic!r} has no partition {index}: it has 0 to {known[-1]}")
    return list(partitions) or known


def _ranges(
    kafka: Kafka, out: Output, places: list[Place], moment: int | None, start: int | None
) -> Ranges:
    """The offsets that are there, from a moment or an offset on. Raises Refused."""
    first, end = offsets.earliest(kafka, places, out), offsets.latest(kafka, places, out)
    begin = dict.fromkeys(places, start)
    if moment is not None:
        begin = offsets.since(kafka, places, out, moment)
    ranges: dict[Place, tuple[int, int]] = {}
    for place in places:
        lowest, highest = first[place], end[place]
        if lowest is None or highest is None:
            raise Refused(f"{place[0]}-{place[1]} has no leader that answers")
        wanted = begin[place]
        if wanted is None:
            wanted = lowest
        elif wanted < 0:
            # By time: all records are older. By offset: so many before the end.
            wanted = highest if moment is not None else highest + wanted
        ranges[place] = min(max(lowest, wanted), highest), highest
    return ranges


def last(consumer: Consumer, out: Output, ranges: Ranges, most: int | None) -> Iterator[Message]:
    """The last records in the ranges. Raises Refused."""
    if most is None:
        if sum(end - start for start, end in ranges.values()) > _SORTED_AT_MOST:
            yield from _read(consumer, ranges)
        else:
            yield from _sorted(consumer, out, ranges)
        return
    width = most
    while most:
        some = {place: (max(start, end - width), end) for place, (start, end) in ranges.items()}
        found = _sorted(consumer, out, some)
        is_all = all(some[place] == ranges[place] for place in ranges)
        if is_all or len(found) >= most:
            yield from found[-most:]
            return
        width *= _WIDER


def _sorted(consumer: Consumer, out: Output, ranges: Ranges) -> list[Message]:
    """All records in the ranges in the order of time; a bar shows how far it is."""
    found: list[Message] = []
    with out.progress("records", sum(end - start for start, end in ranges.values())) as advance:
        for message in _read(consumer, ranges):
            found.append(message)
            advance(1)
    return sorted(found, key=_time)


def following(consumer: Consumer, ends: Mapping[Place, int]) -> Iterator[Message]:
    """The records that come, for ever. Raises Refused when the topic is gone."""
    consumer.assign([TopicPartition(topic, index, end) for (topic, index), end in ends.items()])
    while True:
        for message in consumer.consume(_AT_ONCE, _POLL_SECONDS):
            if not _is_end(message):
                yield message


def _read(consumer: Consumer, ranges: Ranges) -> Iterator[Message]:
    missing = {place: end for place, (start, end) in ranges.items() if start < end}
    consumer.assign(
        [TopicPartition(*place, start) for place, (start, _) in ranges.items() if place in missing]
    )
    heard = time.monotonic()
    while missing:
        messages = consumer.consume(_AT_ONCE, _POLL_SECONDS)
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > _PATIENCE_SECONDS:
            names = ", ".join(f"{topic}-{index}" for topic, index in missing)
            raise Refused(f"nothing came from {names} within {_PATIENCE_SECONDS:g} s")
        for message in messages:
            place = _place(message)
            end = missing.get(place)
            if _is_end(message):
                missing.pop(place, None)
            elif end is not None:
                offset = message.offset() or 0
                if offset >= end - 1:
                    del missing[place]
                if offset < end:
                    yield message


def _is_end(message: Message) -> bool:
    """Tells whether this is no record but the end of its partition. Raises Refused."""
    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:  # pyright: ignore[reportPrivateUsage]
        return True
    raise refused(error, f"topic {message.topic()!r}")


def _place(message: Message) -> Place:
    return message.topic() or "", message.partition() or 0


def _time(message: Message) -> int:
    return message.timestamp()[1]


def _show(out: Output, message: Message) -> None:
    row = as_row(message)
    out.line(row, "" if out.as_json else as_text(row))
