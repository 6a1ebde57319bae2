"""Many requests of one shape: answers per second, and per CPU second of the broker."""

from __future__ import annotations

import uuid
from typing import Final

from conformance.benchmarks.load import body_in, run
from conformance.benchmarks.sampling import (
    Side,
    ask,
    cpu_seconds,
    create_all,
    delete_topic,
    produced,
)
from conformance.benchmarks.shape_admin_frames import ADMIN_FRAMES
from conformance.benchmarks.shape_frames import (
    FRAMES,
    MOST_FRAMES,
    Topics,
    abort_transactions,
    list_offsets_request,
)
from conformance.benchmarks.shape_group_frames import GROUP_FRAMES
from conformance.benchmarks.shapes import Shape
from conformance.benchmarks.tiny import error_in
from kafkalite.wire.api_keys import ApiKey

# A JVM compiles what is new to it while it runs.
_WARM_SAMPLES: Final = 4
_MAKERS: Final = FRAMES | GROUP_FRAMES | ADMIN_FRAMES
# Permutations of three of them are more than a sample asks for.
_METADATA_TOPICS: Final = 40


class Shaped:
    """A shape on one broker."""

    def __init__(self, side: Side, *, shape: Shape) -> None:
        self.broker, self.shape = side.broker, shape
        self.seconds = 0.1 if side.quick else 1.2
        count = shape.topics
        if shape.api == "metadata" and count == 1:
            count = _METADATA_TOPICS
        names = [f"shape-{uuid.uuid4().hex[:8]}" for _ in range(count)]
        configs = {"cleanup.policy": "compact"} if shape.compacted else {}
        ids = create_all(self.broker, names, shape.partitions, configs)
        self.topics = Topics(self.broker, names, ids, MOST_FRAMES // (16 if side.quick else 1))
        if shape.api == "fetch":
            abort_transactions(shape, self.topics)
            for name in names:
                for partition in range(shape.partitions):
                    produced(self.broker, name, partition)
        for _ in range(1 if side.quick else _WARM_SAMPLES):
            self.sample()

    def sample(self) -> dict[str, float]:
        shape = self.shape
        made = _MAKERS[shape.api](shape, self.topics)
        ends, before = self._ends(), cpu_seconds(self.broker.pid)
        load = run(
            self.broker.bootstrap,
            b"".join(made.frames),
            connections=shape.connections,
            in_flight=shape.in_flight,
            seconds=self.seconds,
            per_answer=made.per_answer,
            each=made.each,
        )
        cpu = max(cpu_seconds(self.broker.pid) - before, 0.01)
        if made.topics:
            delete_topic(self.broker, *made.topics)
        self._check(load.first_answer, load.answer_count, made.per_answer, self._ends() - ends)
        count = load.answer_count * made.per_answer
        return {"requests/s": count / load.seconds, "requests per CPU s": count / cpu}

    def _check(self, first: bytes, answers: int, per_answer: int, appended: int) -> None:
        """No answer was an error: the first is read, and what was written is counted."""
        shape = self.shape
        if per_answer == 1:
            found = body_in(ApiKey[shape.api.upper()], shape.version, first)
            assert not error_in(found), found
        if shape.api == "produce":
            written = answers * (per_answer - (per_answer > 1)) * shape.records
            wanted = written * shape.topics * shape.partitions
            assert appended == wanted, f"{appended} records of {wanted}"

    def _ends(self) -> int:
        """The sum of the ends of all partitions."""
        if self.shape.api != "produce":
            return 0
        asked = Shape("list_offsets", 7, self.shape.topics, self.shape.partitions)
        body = list_offsets_request(asked, self.topics)
        answered = ask(self.broker.bootstrap, ApiKey.LIST_OFFSETS, asked.version, body)
        return sum(each.offset for topic in answered.topics for each in topic.partitions)

    def close(self) -> None:
        delete_topic(self.broker, *self.topics.names)
