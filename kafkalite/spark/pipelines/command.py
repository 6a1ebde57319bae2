"""`kafkalite pipeline ...`: the flags, the words on the terminal, the exit code.

0: done, and sound; 1: damage found, or the proof failed; 2: the pipeline could not do what was
asked, which is one sentence on stderr.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kafkalite.config.flags import Parser, mistake

_FAILED_EXIT_CODE: Final = 1
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The flags as given. Exits with code 2 and one sentence when they are wrong."""
    parser = Parser(
        prog="kafkalite pipeline",
        description="Pipelines over logs, as PySpark jobs.",
        epilog="Each is a Python function, too: kafkalite.spark.pipelines. Documentation: "
        "docs/pipelines.md.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="pipeline", metavar="PIPELINE", required=True)
    _seed(commands)
    _archive(commands)
    _replay(commands)
    _audit(commands)
    _prove(commands)
    return parser.parse_args(arguments)


def _add(commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], int]) -> Any:
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.allow_abbrev = False
    parser.set_defaults(run=run)
    parser.add_argument(
        "--summary", metavar="FILE", type=Path, help="write the outcome as JSON, too"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def _spark_flags(parser: Any) -> None:
    parser.add_argument("--master", help="Spark's master (default local[*])")


def _where(parser: Any, *, sink: bool) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    stopped = ", of a kafkalite that does not run" if sink else ", kafkalite's or Apache Kafka's"
    how = {} if sink else {"action": "append"}
    several = "" if sink else "; repeatable, for all of a broker or a cluster"
    where.add_argument(
        "--data-dir", metavar="DIR", help=f"a data directory{stopped}{several}", **how
    )
    where.add_argument("--bootstrap", metavar="HOST:PORT", help="a running broker, of any kind")


def _topic_flags(parser: Any) -> None:
    parser.add_argument("--compression", choices=_CODECS, default="none")
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE",
        dest="configs",
        action="append",
        default=[],
        type=_pair,
        help="a config of the topic if it is made (repeatable); retention.ms is -1 unless set",
    )


def _seed(commands: Any) -> None:
    parser = _add(commands, "seed", "files, or generated records, into a topic", _run_seed)
    parser.add_argument(
        "inputs", nargs="*", metavar="FILE", help="Parquet, CSV or JSON, or directories"
    )
    parser.add_argument("--topic", required=True)
    _where(parser, sink=True)
    parser.add_argument("--partitions", type=int, default=1, help="default 1")
    parser.add_argument("--format", choices=("parquet", "csv", "json"), help="if no suffix tells")
    parser.add_argument(
        "--value", help="a column, some (a,b,c) as a JSON object, or * for all (the default)"
    )
    parser.add_argument("--key", help="a column; default: no keys")
    parser.add_argument(
        "--partition", help="an integer column; default: by key, as Kafka's producers choose"
    )
    parser.add_argument("--timestamp", help="a column; default: --timestamp-ms for all")
    parser.add_argument("--timestamp-ms", type=int, help="milliseconds since 1970; default: now")
    parser.add_argument(
        "--header",
        metavar="NAME=COLUMN",
        dest="headers",
        action="append",
        default=[],
        type=_pair,
        help="repeatable; *=COLUMN: a column with lists of (key, value)",
    )
    parser.add_argument("--generate", type=int, default=0, metavar="N", help="N records, no files")
    parser.add_argument("--seed", type=int, default=0, help="of what is generated; default 0")
    parser.add_argument("--value-bytes", type=int, default=100, help="of what is generated")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted run")
    _topic_flags(parser)
    _spark_flags(parser)


def _archive(commands: Any) -> None:
    parser = _add(commands, "archive", "what topics have gained, to Parquet", _run_archive)
    parser.add_argument("archive", metavar="ARCHIVE", help="the directory of the archive")
    _where(parser, sink=False)
    parser.add_argument("--topic", dest="topics", action="append", default=[], help="repeatable")
    parser.add_argument(
        "--isolation",
        choices=("read_committed", "read_uncommitted"),
        default="read_committed",
        help="default read_committed",
    )
    parser.add_argument(
        "--allow-loss", action="store_true", help="go on where records were deleted unarchived"
    )
    _spark_flags(parser)


def _replay(commands: Any) -> None:
    parser = _add(commands, "replay", "an archive back into a topic", _run_replay)
    parser.add_argument("archive", metavar="ARCHIVE", help="the directory of the archive")
    parser.add_argument("--topic", required=True, help="the archived topic")
    parser.add_argument("--into", metavar="TOPIC", help="its name now; default: the same")
    _where(parser, sink=True)
    parser.add_argument(
        "--append", action="store_true", help="behind what is there, not to the same offsets"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with an interrupted run without --append"
    )
    parser.add_argument(
        "--speed",
        type=float,
        metavar="N",
        help="N times the pace of the timestamps; default: at once",
    )
    _topic_flags(parser)
    _spark_flags(parser)


def _audit(commands: Any) -> None:
    parser = _add(commands, "audit", "whether a data directory is what a broker wrote", _run_audit)
    parser.add_argument(
        "data_dirs",
        metavar="DIR",
        nargs="+",
        help="kafkalite's or Apache Kafka's; several, for all of a broker or a cluster",
    )
    parser.add_argument("--topic", dest="topics", action="append", default=[], help="repeatable")
    parser.add_argument(
        "--report", metavar="DIR", help="write audit.html, audit.json and two Parquet files there"
    )
    _spark_flags(parser)


def _prove(commands: Any) -> None:
    parser = _add(commands, "prove", "exactly once with Spark, whatever is killed", _run_prove)
    parser.add_argument("directory", metavar="DIR", help="where everything of the proof is kept")
    parser.add_argument("--seed", type=int, default=1, help="of records and kills; default 1")
    parser.add_argument("--records", type=int, default=200_000, help="default 200000")
    parser.add_argument("--partitions", type=int, default=4, help="default 4")
    parser.add_argument("--kills", type=int, default=6, help="default 6")
    parser.add_argument(
        "--jars", metavar="FILE,...", help="Spark's Kafka connector and what it needs"
    )
    parser.add_argument(
        "--packages", metavar="GROUP:NAME:VERSION", help="or by name; default: PySpark's version"
    )
    parser.add_argument(
        "--plant", choices=("lost-batch", "repeated-batch"), help="a bug that the proof must find"
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


# -- running


def _run_seed(flags: argparse.Namespace) -> int:
    import time

    from kafkalite.spark.pipelines.columns import EVERYTHING, Columns
    from kafkalite.spark.pipelines.seeding import seed

    timestamp_ms = flags.timestamp_ms
    if timestamp_ms is None:
        timestamp_ms = time.time_ns() // 1_000_000
    generated = bool(flags.generate)
    columns = Columns(
        value=flags.value or ("value" if generated else EVERYTHING),
        key=flags.key or ("key" if generated else None),
        partition=flags.partition,
        timestamp=flags.timestamp or ("timestamp" if generated else None),
        headers=tuple(flags.headers) or ((("number", "number"),) if generated else ()),
        timestamp_ms=timestamp_ms,
    )
    summary = seed(
        flags.inputs,
        topic=flags.topic,
        data_dir=flags.data_dir,
        bootstrap=flags.bootstrap,
        partitions=flags.partitions,
        columns=columns,
        format=flags.format,
        generate=flags.generate,
        seed=flags.seed,
        value_bytes=flags.value_bytes,
        compression=flags.compression,
        configs=dict(flags.configs),
        resume=flags.resume,
        master=flags.master,
        progress=not flags.quiet,
    )
    return _done(summary, flags)


def _run_archive(flags: argparse.Namespace) -> int:
    from kafkalite.spark.pipelines.archiving import archive

    summary = archive(
        flags.archive,
        topics=flags.topics,
        data_dir=flags.data_dir,
        bootstrap=flags.bootstrap,
        isolation=flags.isolation,
        allow_loss=flags.allow_loss,
        master=flags.master,
        progress=not flags.quiet,
    )
    return _done(summary, flags)


def _run_replay(flags: argparse.Namespace) -> int:
    from kafkalite.spark.pipelines.replaying import replay

    summary = replay(
        flags.archive,
        topic=flags.topic,
        into=flags.into,
        data_dir=flags.data_dir,
        bootstrap=flags.bootstrap,
        append=flags.append,
        resume=flags.resume,
        speed=flags.speed,
        compression=flags.compression,
        configs=dict(flags.configs),
        master=flags.master,
        progress=not flags.quiet,
    )
    return _done(summary, flags)


def _run_audit(flags: argparse.Namespace) -> int:
    from kafkalite.spark.audit.auditing import audit

    found = audit(
        flags.data_dirs,
        topics=flags.topics,
        report_dir=flags.report,
        master=flags.master,
        progress=not flags.quiet,
    )
    return _done(found, flags) or (0 if found.is_sound else _FAILED_EXIT_CODE)


def _run_prove(flags: argparse.Namespace) -> int:
    from kafkalite.spark.proof.proving import prove

    verdict = prove(
        flags.directory,
        seed=flags.seed,
        records=flags.records,
        partitions=flags.partitions,
        kills=flags.kills,
        jars=flags.jars,
        packages=flags.packages,
        plant=flags.plant,
        progress=not flags.quiet,
    )
    return _done(verdict, flags) or (0 if verdict.holds else _FAILED_EXIT_CODE)


def _done(outcome: Any, flags: argparse.Namespace) -> int:
    print(outcome)
    if flags.summary is not None:
        outcome.write_json(flags.summary)
    return 0


def main(arguments: list[str]) -> int:
    """Run a pipeline; returns the exit code."""
    flags = parse_arguments(arguments)
    try:
        import numpy as np  # noqa: F401 - is it there?
        import pyarrow as pa  # noqa: F401 - is it there?
        import pyspark  # noqa: F401 - is it there?
        import tqdm  # noqa: F401 - is it there?
    except ImportError as error:
        return _refuse(f"{error.name} is not installed: pip install 'kafkalite[spark]'")
    from kafkalite.spark.errors import SparkSourceError
    from kafkalite.spark.pipelines.errors import PipelineError, told

    try:
        result: int = flags.run(flags)
        return result
    except (PipelineError, SparkSourceError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(told(error))
    except KeyboardInterrupt:
        return _refuse("interrupted; the same command goes on where it can")


def _refuse(sentence: str) -> int:
    return mistake(" ".join(sentence.split()))
