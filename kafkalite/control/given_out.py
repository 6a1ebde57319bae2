"""Ids that a broker gives out at random, and another broker's in their place.

Two brokers that were told the same give out other topic ids, member ids, producer ids and numbers
of fetch sessions. At the same place in two answers they stand for the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkalite.requests.names import class_of, listed, named
from kafkalite.wire.checksum import crc32c
from kafkalite.wire.record_batch import HEADER_BYTES, RecordBatch
from kafkalite.wire.schema import FIELDS, fields_of

_GIVEN_OUT: Final = frozenset({"topic_id", "member_id", "leader", "producer_id", "session_id"})
_NOTHING: Final = (None, "", 0, -1, "00000000-0000-0000-0000-000000000000")
# The addresses of a broker, the checksum over what is compared by itself, how quick it was, and
# the offset of its own metadata.
_NOT_COMPARED: Final = frozenset(
    {"host", "port", "crc", "throttle_time_ms", "finalized_features_epoch"}
)
# A reading of the clock is up to this much later than that of the frame which caused it.
_CLOCK_MS: Final = 1000
_PRODUCER_ID: Final = slice(43, 51)
_CRC: Final = slice(17, 21)


class GivenOut:
    """Says which id of the broker that is asked now stands for a recorded one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Any] = {}

    def learn(self, recorded: Any, answer: Any, name: str = "") -> None:
        """Two answers as JSON: what stands at the same place stands for the same thing."""
        if (fields := named(recorded)) is not None and (other := named(answer)) is not None:
            for key, value in fields.items():
                self.learn(value, other.get(key), key)
        elif (several := listed(recorded)) is not None:
            for one, another in zip(several, listed(answer) or (), strict=False):
                self.learn(one, another, name)
        elif name in _GIVEN_OUT and recorded not in _NOTHING and answer not in _NOTHING:
            self._known.setdefault((_kind(name), str(recorded)), answer)

    def now(self, name: str, recorded: Any) -> Any:
        """The id that stands for a recorded one, in the type of the recorded one."""
        known = self._known.get((_kind(name), str(recorded)))
        return recorded if known is None else type(recorded)(known)

    def differences(self, recorded: Any, answer: Any, path: str = "") -> Iterator[tuple[str, str]]:
        """The paths at which two answers as JSON differ, and how."""
        name = path.rpartition(".")[2].partition("[")[0]
        if (one := named(recorded)) is not None and (other := named(answer)) is not None:
            for key in one.keys() | other.keys():
                yield from self.differences(one.get(key), other.get(key), f"{path}.{key}")
        elif (several := listed(recorded)) is not None and (others := listed(answer)) is not None:
            if len(several) != len(others):
                yield path, f"{len(several)} elements, and now {len(others)}"
            for index, pair in enumerate(zip(several, others, strict=False)):
                yield from self.differences(*pair, f"{path}[{index}]")
        elif name not in _NOT_COMPARED and not self._is_same(name, recorded, answer):
            yield path, f"{recorded!r}, and now {answer!r}"

    def _is_same(self, name: str, recorded: Any, answer: Any) -> bool:
        if recorded == answer or str(self.now(name, recorded)) == str(answer):
            return True
        is_time = "timestamp" in name or name.endswith("_time_ms")
        if is_time and isinstance(recorded, int) and isinstance(answer, int):
            return abs(recorded - answer) <= _CLOCK_MS
        return False

    def put_into(self, message: Any) -> bool:
        """Replace what is known in a request; tells whether anything was replaced."""
        changed = False
        for field in fields_of(class_of(message)):
            value = getattr(message, field.name)
            several = listed(value)
            if several is not None or hasattr(value, FIELDS):
                for each in [value] if several is None else several:
                    if hasattr(each, FIELDS):
                        changed |= self.put_into(each)
                continue
            if field.name == "records" and value is not None:
                wanted = self._records(bytes(value))
            elif field.name in _GIVEN_OUT:
                wanted = self.now(field.name, value)
            else:
                continue
            if wanted != value:
                setattr(message, field.name, wanted)
                changed = True
        return changed

    def _records(self, data: bytes) -> bytes:
        """Batches with the producer ids of now, and the checksums that belong to them."""
        out, position = bytearray(data), 0
        while position + HEADER_BYTES <= len(out):
            batch = RecordBatch(memoryview(data), position)
            size, producer_id = batch.size_bytes, batch.producer_id
            wanted = self.now("producer_id", producer_id)
            if size < HEADER_BYTES or position + size > len(out):
                break
            if wanted != producer_id:
                part = memoryview(out)[position : position + size]
                part[_PRODUCER_ID] = wanted.to_bytes(8, "big", signed=True)
                part[_CRC] = crc32c(bytes(part[_CRC.stop :])).to_bytes(4, "big")
            position += size
        return bytes(out)


def _kind(name: str) -> str:
    """The leader of a group is a member."""
    return "member_id" if name == "leader" else name
