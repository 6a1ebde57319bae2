"""Delays of other clients by compaction and retention: `python -m conformance.benchmarks.cleaning`.

A broker in this process, so that every turn of its event loop is timed; a load generator in another
sends small Produces over eight connections. First alone, then while a compacted topic is filled and
cleaned without a pause and another loses a segment every few milliseconds. The longest turn is how
long a request may have had to wait for the background: in CPU time, and as it was (the machine's
other work included).
"""

import time
from dataclasses import dataclass

import trio

from conformance.benchmarks.load import Load, request, run
from conformance.benchmarks.sampling import produce_request
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.record_batch import Record, build_batch

SECONDS = 15.0
CONFIG = {
    "log.cleaner.backoff.ms": 1,
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 5,
    "log.segment.delete.delay.ms": 0,
    "log.flush.scheduler.interval.ms": 100,
}


@dataclass(eq=False)
class Turns(trio.abc.Instrument):
    """The longest time that one task kept the loop."""

    longest_wall: float = 0.0
    longest_cpu: float = 0.0
    longest_name: str = ""
    _wall: float = 0.0
    _cpu: float = -1.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._cpu < 0:
            return  # the turn in which it was added
        cpu = time.thread_time() - self._cpu
        self.longest_wall = max(self.longest_wall, time.perf_counter() - self._wall)
        if cpu > self.longest_cpu:
            self.longest_cpu, self.longest_name = cpu, task.name


def partition_of(running: broker, topic: str) -> Partition:
    found = running._running.services.topics.get(topic)
    assert found is not None
    return found.partitions[0]


async def fill(running: broker) -> None:
    """Keep the cleaner and retention at work."""
    table, log = (partition_of(running, name) for name in ("table", "retained"))
    value = bytes(200)
    i = 0
    while True:
        now_ms = running._running.clock.now_ms()
        records = [
            Record(timestamp=now_ms, key=b"key-%d" % ((i * 31 + j) % 20_000), value=value)
            for j in range(50)
        ]
        batch = build_batch(records)
        table.append(batch)
        log.append(batch)
        i += 1
        await trio.sleep(0.001)


async def measure(running: broker, frame: bytes) -> tuple[Load, Turns]:
    turns = Turns()
    trio.lowlevel.add_instrument(turns)
    load = await trio.to_thread.run_sync(
        lambda: run(running.bootstrap, frame, connections=8, seconds=SECONDS)
    )
    trio.lowlevel.remove_instrument(turns)
    return load, turns


def show(what: str, load: Load, turns: Turns) -> None:
    print(
        f"{what:26} {load.per_second:8,.0f} Produces/s, p50 {load.latency_ms(50):6.2f} ms, "
        f"p99 {load.latency_ms(99):6.2f} ms; "
        f"longest turn {turns.longest_cpu * 1000:5.1f} ms of CPU "
        f"({turns.longest_name.rpartition('.')[2]}), {turns.longest_wall * 1000:5.1f} ms"
    )


async def main() -> None:
    async with broker(CONFIG) as running:
        running.create_topic("t", 1)
        compact = {
            "cleanup.policy": "compact",
            "internal.segment.bytes": 2_000_000,
            "min.cleanable.dirty.ratio": 0.01,
        }
        running.create_topic("table", 1, configs=compact)
        short = {"internal.segment.bytes": 500_000, "retention.bytes": 5_000_000}
        running.create_topic("retained", 1, configs=short)
        frame = request(ApiKey.PRODUCE, 12, produce_request("t"))
        await measure(running, frame)  # warm
        show("alone", *await measure(running, frame))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fill, running)
            show("with compaction, retention", *await measure(running, frame))
            nursery.cancel_scope.cancel()
        table, log = (partition_of(running, name).log for name in ("table", "retained"))
        print(
            f"{'':26} {table.log_end_offset:,} records compacted "
            f"to {table.size_bytes / 1e6:.0f} MB, "
            f"retention went up to offset {log.log_start_offset:,}"
        )


if __name__ == "__main__":
    trio.run(main)
