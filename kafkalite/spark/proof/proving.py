"""prove: feed, copy, kill, start again; then the verdict."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from tqdm import tqdm

from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import CouldNotBegin, PipelineError
from kafkalite.spark.pipelines.network import NetworkReader, NetworkSink
from kafkalite.spark.proof.checkpoints import batch_ids, interrupted, planned_end, sink_files
from kafkalite.spark.proof.judging import Verdict, judge_kafka, judge_parquet
from kafkalite.spark.proof.planting import PLANTS, plant
from kafkalite.spark.proof.processes import BrokerProcess, DriverProcess, check_java
from kafkalite.spark.proof.source import COPY, SOURCE, Feeder

_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_PLAN: Final = "plan.json"
_VERDICT: Final = "verdict.json"
# The time that a living driver may take for a batch, and for all that is left.
_BATCH_SECONDS: Final = 180.0
_END_SECONDS: Final = 1800.0
_POLL_SECONDS: Final = 0.05
_MARGIN: Final = 20
_BROKER, _DRIVER = "broker", "driver"


@dataclass(frozen=True, slots=True)
class Kill:
    """At this many acknowledged records, so long after Spark finished another batch."""

    records: int
    target: str
    delay_s: float


def plan_kills(seed: int, records: int, kills: int) -> list[Kill]:
    """The points at which broker and driver die: in turn, from the seed."""
    chance = random.Random(seed)
    points = sorted(
        chance.sample(range(records // 20, max(records * 9 // 10, records // 20 + kills)), kills)
    )
    first = chance.randrange(2)
    return [
        Kill(point, (_BROKER, _DRIVER)[(first + i) % 2], chance.uniform(0, 0.5))
        for i, point in enumerate(points)
    ]


@dataclass(slots=True)
class _Proof:
    """A proof under way."""

    directory: Path
    broker: BrokerProcess
    driver: DriverProcess
    feeder: Feeder
    bar: Any
    plant: str | None
    kills: list[str] = field(default_factory=list[str])

    def checkpoint(self, sink: str) -> Path:
        return self.directory / f"checkpoint-{sink}"

    def carry_out(self, kills: list[Kill]) -> None:
        """Wait for each point, and kill. Raises PipelineError."""
        self.start_driver()
        for kill in kills:
            # A kill strikes while records are sent: some more than it waits for, not all.
            self.feeder.limit = kill.records + self.bar.total // _MARGIN
            self._wait(partial(self._has_fed, kill.records), _END_SECONDS)
            self._wait(partial(self._has_copied, self._commits()), _BATCH_SECONDS)
            time.sleep(kill.delay_s)
            if kill.target == _BROKER:
                self.broker.kill()
                self._plant()
                self.broker.start()
            else:
                self.driver.kill()
                self.start_driver()
            self.kills.append(f"{kill.target} at {self.feeder.total:,}")
        self.feeder.limit = self.bar.total
        self._wait(lambda: not self.feeder.is_alive, _END_SECONDS)
        self.driver.kill()

    def finish(self) -> None:
        """Let Spark copy what is left. Raises PipelineError."""
        self.start_driver(to_the_end=True)
        code = self.driver.wait(_END_SECONDS)
        if code != 0:
            self._check_begun()
            raise PipelineError(f"Spark did not come to an end: {self.driver.tail()}")

    def _check_begun(self) -> None:
        """Raises CouldNotBegin: no driver ever got as far as to run its queries."""
        if not self.driver.has_begun:
            raise CouldNotBegin(f"Spark did not start: {self.driver.problem()}")

    def start_driver(self, *, to_the_end: bool = False) -> None:
        """Start it; what it will run again for the Kafka sink is written down first."""
        again = interrupted(self.checkpoint("kafka"))
        with (self.directory / "replayed.jsonl").open("a") as file:
            for batch_id in sorted(again):
                file.write(json.dumps(batch_id) + "\n")
        self.driver.start(to_the_end=to_the_end)

    def replayed(self) -> list[dict[int, tuple[int, int]]]:
        """The ranges of the batches that were run again, once for each time."""
        lines = (self.directory / "replayed.jsonl").read_text().splitlines()
        ids = [json.loads(line) for line in lines]
        checkpoint = self.checkpoint("kafka")
        found: list[dict[int, tuple[int, int]]] = []
        for batch_id in ids:
            starts = planned_end(checkpoint, batch_id - 1)
            ends = planned_end(checkpoint, batch_id)
            found.append({each: (starts.get(each, 0), end) for each, end in ends.items()})
        return found

    def _has_fed(self, records: int) -> bool:
        return self.feeder.total >= records or self.feeder.failure is not None

    def _has_copied(self, commits: int) -> bool:
        """Another batch is done; or there is none to come before more is fed."""
        return self._commits() > commits or self._is_all_copied()

    def _is_all_copied(self) -> bool:
        fed = dict(enumerate(self.feeder.acknowledged))
        for sink in ("parquet", "kafka"):
            done = max(batch_ids(self.checkpoint(sink), "commits"), default=None)
            if done is None or planned_end(self.checkpoint(sink), done) != fed:
                return False
        return True

    def _commits(self) -> int:
        return sum(
            len(batch_ids(self.checkpoint(sink), "commits")) for sink in ("parquet", "kafka")
        )

    def _plant(self) -> None:
        if self.plant is None:
            return
        reached: dict[int, int] = {}
        for sink in ("parquet", "kafka"):
            planned = batch_ids(self.checkpoint(sink), "offsets")
            for each, end in planned_end(self.checkpoint(sink), max(planned, default=-1)).items():
                reached[each] = max(reached.get(each, 0), end)
        if plant(self.plant, self.broker.data_dir, reached):
            self.kills.append(f"{self.plant} planted")
            self.plant = None

    def _wait(self, until: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not until():
            self.bar.update(self.feeder.total - self.bar.n)
            if not self.driver.is_running:  # a query failed, as it may when its broker dies
                self._check_begun()
                self.start_driver()
            if time.monotonic() > deadline:
                raise PipelineError(f"nothing happened for {seconds:g} s: {self.driver.tail()}")
            time.sleep(_POLL_SECONDS)
        if self.feeder.failure is not None:
            raise self.feeder.failure


def prove(
    directory: str | Path,
    *,
    seed: int = 1,
    records: int = 200_000,
    partitions: int = 4,
    kills: int = 6,
    jars: str | None = None,
    packages: str | None = None,
    plant: str | None = None,
    seconds: float = 60.0,
    per_trigger: int | None = None,
    progress: bool = False,
) -> Verdict:
    """The exactly-once proof.

    An interrupted proof goes on in its directory; one that is through says its verdict again.

    Args:
        directory: keeps broker, checkpoints, Parquet files, logs and verdict.json.
        seed: of the records, and of where the kills strike.
        jars: Spark's Kafka connector and what it needs, separated by commas; or
        packages: its name in Maven Central; PySpark's own version by default.
        plant: "lost-batch" or "repeated-batch": a bug of the broker's, which must make the proof
        fail. seconds: the source is fed over about so long.

    Raises PipelineError: the proof could not be carried out.
    """
    root = local_path(directory).resolve()
    if kills < 0 or partitions < 1 or records < 100 * partitions or plant not in (None, *PLANTS):
        raise PipelineError(
            f"a proof takes 100 records for each partition ({records} for {partitions}), "
            f"no negative number of kills ({kills}), "
            f"and plants one of {', '.join(PLANTS)} ({plant})"
        )
    plan = {
        "seed": seed,
        "records": records,
        "partitions": partitions,
        "kills": kills,
        "plant": plant,
    }
    verdict = _begin(root, plan)
    if verdict is not None:
        return verdict
    began = time.monotonic()
    arguments = ["--per-trigger", str(per_trigger or max(500, records // 60))]
    if jars:
        arguments += ["--jars", jars]
    else:
        arguments += ["--packages", packages or f"{_CONNECTOR}:{_pyspark_version()}"]
    with ExitStack() as stack:
        broker = BrokerProcess(root)
        stack.callback(broker.kill)
        bootstrap = broker.start()
        for topic in (SOURCE, COPY):
            with NetworkSink(bootstrap, topic, partitions):
                pass
        driver = DriverProcess(root, bootstrap, arguments)
        stack.callback(driver.kill)
        feeder = Feeder(bootstrap, seed, partitions, records // partitions, seconds)
        stack.callback(feeder.stop)
        bar = stack.enter_context(
            tqdm(total=records, unit=" records", desc="prove", disable=not progress)
        )
        proof = _Proof(root, broker, driver, feeder, bar, plant)
        verdict = _run(proof, seed, plan_kills(seed, records, kills), NetworkReader(bootstrap))
    verdict.seconds = time.monotonic() - began
    verdict.write_json(root / _VERDICT)
    return verdict


def _run(proof: _Proof, seed: int, kills: list[Kill], source: NetworkReader) -> Verdict:
    """Feed, kill, and judge. Raises PipelineError."""
    verdict = Verdict(seed, 0)
    proof.feeder.start()
    try:
        proof.carry_out(kills)
        proof.finish()
    except CouldNotBegin:
        raise
    except (PipelineError, SparkSourceError) as error:
        verdict.problems.append(str(error))
    if proof.plant is not None and not verdict.problems:
        raise PipelineError(f"there was no moment to plant {proof.plant}: take another seed")
    verdict.kills, verdict.acknowledged = proof.kills, proof.feeder.total
    acknowledged = proof.feeder.acknowledged
    judge_parquet(verdict, seed, acknowledged, _parquet(proof.directory / "parquet"))
    judge_kafka(verdict, seed, acknowledged, _copied(source), proof.replayed())
    return verdict


def _begin(root: Path, plan: dict[str, Any]) -> Verdict | None:
    """The verdict, if the proof in the directory is through; else Spark can begin.

    Raises PipelineError.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        if (root / _PLAN).exists():
            stored = json.loads((root / _PLAN).read_text())
            if stored != plan:
                raise PipelineError(f"{root} holds another proof: {stored}")
            if (root / _VERDICT).exists():
                fields = json.loads((root / _VERDICT).read_text())
                fields.pop("holds")
                return Verdict(**fields)
        elif any(root.iterdir()):
            raise PipelineError(f"{root} is not empty, and holds no proof")
        else:
            (root / _PLAN).write_text(json.dumps(plan))
    except (OSError, json.JSONDecodeError) as error:
        raise PipelineError(f"{root} cannot be used: {error}") from error
    check_java()
    return None


def _pyspark_version() -> str:
    import pyspark

    return str(pyspark.__version__)


def _parquet(directory: Path) -> Iterator[Any]:
    for path in sink_files(directory):
        yield pa.parquet.ParquetFile(path).read()


def _copied(source: NetworkReader) -> Iterator[Any]:
    """The copy's records, by the partition and offset that their keys name."""
    for topic, partition in source.partitions():
        if topic != COPY:
            continue
        start, end = source.bounds(topic, partition, Isolation.READ_UNCOMMITTED)
        for batch in source.read(topic, partition, start, end, Isolation.READ_UNCOMMITTED):
            keys = pa.compute.split_pattern(batch.column("key").cast(pa.string()), ":")
            yield pa.table(
                {
                    "partition": pa.compute.list_element(keys, 0).cast(pa.int64()),
                    "offset": pa.compute.list_element(keys, 1).cast(pa.int64()),
                    "value": batch.column("value").cast(pa.string()),
                }
            )
