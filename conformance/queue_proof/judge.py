"""The judge of the workers' journals: a record that was accepted or rejected never comes again.

A line is `delivered TIME PARTITION OFFSET VALUE` or `done TIME PARTITION OFFSET VALUE`, with times
in nanoseconds of the machine's one monotonic clock. The time of a delivery is one at which the
record had not come yet: the end of the worker's poll before. The time of `done` is one at which the
broker had confirmed the acknowledgement.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

Record = tuple[int, int]


# A worker polls, works and acknowledges within this time.
_ROUND_NANOSECONDS = 10_000_000_000


class Judge:
    """Reads all journals of a directory as they grow. `verdict` is the first thing wrong."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._positions: Counter[Path] = Counter()
        self._last_delivery: dict[Record, int] = {}
        self._done: dict[Record, int] = {}
        self.deliveries = 0
        # The times at which a broker or a worker was killed.
        self.kills: list[int] = []
        self.verdict: str | None = None

    @property
    def done(self) -> Counter[int]:
        """The records that were accepted or rejected for good, by partition."""
        return Counter(partition for partition, _ in self._done)

    @property
    def unclear(self) -> Counter[int]:
        """The records whose acknowledgement was under way when something was killed.

        The broker may have it, and the worker has not heard of it.
        """
        return Counter(
            record[0]
            for record, delivered in self._last_delivery.items()
            if record not in self._done
            and any(delivered <= kill <= delivered + _ROUND_NANOSECONDS for kill in self.kills)
        )

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
                self._take(line)

    def _take(self, line: str) -> None:
        what, *numbers = line.split(" ")
        time, partition, offset, value = map(int, numbers)
        record = partition, offset
        if value != offset:
            self._wrong(record, f"{value} was delivered")
        if what == "delivered":
            self.deliveries += 1
            self._last_delivery[record] = max(time, self._last_delivery.get(record, 0))
        elif record in self._done:
            self._wrong(record, "was acknowledged for good twice")
        else:
            self._done[record] = time
            if record not in self._last_delivery:
                self._wrong(record, "was acknowledged and never delivered")
        if self._last_delivery.get(record, 0) >= self._done.get(record, 1 << 63):
            self._wrong(record, "was delivered again after it was acknowledged for good")

    def _wrong(self, record: Record, what: str) -> None:
        partition, offset = record
        self.verdict = self.verdict or f"partition {partition}, offset {offset}: {what}"
