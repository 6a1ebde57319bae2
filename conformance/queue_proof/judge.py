"""The judge of the workers' journals: a record that was accepted or rejected never comes again.

A line is `WHAT TIME PARTITION OFFSET VALUE`, with times in nanoseconds of the machine's one
monotonic clock. The time of `delivered` is one before which the broker had not given the record to
this worker. It is followed by the record's outcome, unless the worker is killed before: `done` if
the broker had confirmed by then that it was accepted or rejected, `left` if it was released or the
broker refused, `lost` if no answer came, so that one cannot know.

The records of a partition come in the order of their offsets within a delivery, which is all that a
poll gave: its lines stand together, without an outcome between them.

A record may be confirmed twice, by Apache Kafka too: who acknowledges records behind the start
offset hears of no error (SharePartition.acknowledge), though its lock has run out and another
member has accepted them. Two confirmations are wrong only if both members certainly had a lock.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

Record = tuple[int, int]

_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An acknowledgement that the broker confirmed at `time`, of a record delivered at `since`."""

    journal: str
    since: int
    time: int

    def __str__(self) -> str:
        return f"{self.journal} had it for {(self.time - self.since) / _SECOND:.3f} s"


class Judge:
    """Reads all journals of a directory as they grow. `verdict` is the first thing wrong.

    A lock that began less than `lock_seconds` ago has not run out.
    """

    def __init__(self, directory: Path, lock_seconds: float) -> None:
        self._directory = directory
        self._lock = int(lock_seconds * _SECOND)
        self._positions: Counter[Path] = Counter()
        self._last_delivery: dict[Record, int] = {}
        self._under_way: dict[tuple[str, Record], int] = {}
        self._in_delivery: dict[str, Counter[int]] = {}
        """The offset behind the last record, by partition, of the journal's last delivery."""
        self._lost: set[Record] = set()
        self._done: dict[Record, Confirmation] = {}
        self.deliveries = 0
        self.late = 0
        """Confirmations of what was confirmed before, to members whose lock may have run out."""
        self.kills: list[tuple[int, int]] = []
        """A broker or a worker was killed within these times, and a broker started again."""
        self.verdict: str | None = None

    @property
    def done(self) -> Counter[int]:
        """The records that were accepted or rejected for good, by partition."""
        return Counter(partition for partition, _ in self._done)

    @property
    def done_count(self) -> int:
        return len(self._done)

    @property
    def unclear(self) -> Counter[int]:
        """The records of which no worker knows more than that they may be done.

        The answer was lost, or the worker was killed before it came.
        """
        perhaps = self._lost | {record for _, record in self._under_way}
        return Counter(partition for partition, _ in perhaps - self._done.keys())

    @property
    def reached(self) -> Counter[int]:
        """The offset behind the last record delivered, by partition."""
        reached: Counter[int] = Counter()
        for partition, offset in self._last_delivery:
            reached[partition] = max(reached[partition], offset + 1)
        return reached

    @property
    def again(self) -> int:
        """Deliveries beyond each record's first."""
        return self.deliveries - len(self._last_delivery)

    def read(self) -> None:
        """Take in all whole lines that are new: a killed worker may leave half a line."""
        for journal in sorted(self._directory.glob("*.journal")):
            with journal.open("rb") as file:
                file.seek(self._positions[journal])
                lines = file.read()
            lines = lines[: lines.rfind(b"\n") + 1]
            self._positions[journal] += len(lines)
            for line in lines.decode().splitlines():
                self._take(journal.stem, line)

    def _take(self, journal: str, line: str) -> None:
        what, *numbers = line.split(" ")
        time, partition, offset, value = map(int, numbers)
        record = partition, offset
        if value != offset:
            self._wrong(record, f"{value} was delivered")
        if what == "delivered":
            self.deliveries += 1
            reached = self._in_delivery.setdefault(journal, Counter())
            if offset < reached[partition]:
                self._wrong(record, f"was delivered with, and after, {reached[partition] - 1}")
            reached[partition] = offset + 1
            self._last_delivery[record] = max(time, self._last_delivery.get(record, 0))
            self._under_way[journal, record] = time
        else:
            self._in_delivery.pop(journal, None)
            since = self._under_way.pop((journal, record), None)
            if since is None:
                self._wrong(record, "was acknowledged and never delivered")
            elif what == "done":
                self._confirmed(record, Confirmation(journal, since, time))
            elif what == "lost":
                self._lost.add(record)
        done, delivered = self._done.get(record), self._last_delivery.get(record, 0)
        if done is not None and delivered >= done.time:
            later = (delivered - done.time) / _SECOND
            self._wrong(
                record,
                f"was delivered again {later:.3f} s after it was acknowledged for good: {done}",
            )

    def _confirmed(self, record: Record, confirmation: Confirmation) -> None:
        before = self._done.get(record)
        if before is None:
            self._done[record] = confirmation
            return
        if self._is_certain(before) and self._is_certain(confirmation):
            self._wrong(record, f"was acknowledged for good twice: {before}, {confirmation}")
        self.late += 1
        self._done[record] = min(before, confirmation, key=lambda each: each.time)

    def _is_certain(self, confirmation: Confirmation) -> bool:
        """True if the member had a lock: it had not run out, and its session had not ended."""
        since, time = confirmation.since, confirmation.time
        return time - since < self._lock and not self._was_killed(since, time)

    def _was_killed(self, start: int, end: int) -> bool:
        return any(killed <= end and start <= over for killed, over in self.kills)

    def _wrong(self, record: Record, what: str) -> None:
        partition, offset = record
        self.verdict = self.verdict or f"partition {partition}, offset {offset}: {what}"
