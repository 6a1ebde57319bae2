"""An audit as files: findings.parquet and partitions.parquet, audit.json, and audit.html to
read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet

from kafkalite.spark.audit.page import page
from kafkalite.spark.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from kafkalite.spark.audit.auditing import Audit

_FINDINGS: Final = pa.schema(
    [
        ("severity", pa.string()),
        ("data_dir", pa.string()),
        ("kind", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("message", pa.string()),
    ]
)
_PARTITIONS: Final = pa.schema(
    [
        ("data_dir", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *(
            (name, pa.int64())
            for name in (
                "start_offset",
                "end_offset",
                "records",
                "value_bytes",
                "size",
                "producers",
                "committed",
                "aborted",
                "open_transactions",
                "timestamps_back",
            )
        ),
        ("topic_id", pa.string()),
    ]
)


def write_report(audit: Audit, directory: Path) -> None:
    """Write the four files, each whole or not at all. Raises PipelineError."""
    findings, partitions = _rows(audit)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _replace(directory / "findings.parquet", _parquet(findings, _FINDINGS))
        _replace(directory / "partitions.parquet", _parquet(partitions, _PARTITIONS))
        _replace(directory / "audit.json", as_json(audit))
        _replace(directory / "audit.html", page(audit).encode())
    except OSError as error:
        raise PipelineError(f"the report cannot be written to {directory}: {error}") from error


def as_json(audit: Audit) -> bytes:
    """The outcome with every finding and partition."""
    findings, partitions = _rows(audit)
    summary = {
        "data_dirs": [
            {"path": str(each.path), "broker_running": each.is_held} for each in audit.directories
        ],
        "sound": audit.is_sound,
        "seconds": round(audit.seconds, 3),
        "counts": audit.counts,
        "findings": findings,
        "partitions": [{name: each[name] for name in _PARTITIONS.names} for each in partitions],
    }
    return (json.dumps(summary, indent=2) + "\n").encode()


def _rows(audit: Audit) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    findings = [{**asdict(each), "severity": str(each.severity)} for each in audit.findings]
    return findings, [asdict(each) for each in audit.partitions]


def _parquet(rows: list[dict[str, Any]], schema: Any) -> bytes:
    sink = pa.BufferOutputStream()
    kept = [{name: row[name] for name in schema.names} for row in rows]
    pa.parquet.write_table(pa.Table.from_pylist(kept, schema), sink)
    return bytes(sink.getvalue())


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(data)
    os.replace(temporary, path)
