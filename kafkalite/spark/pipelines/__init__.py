"""Pipelines over logs, as PySpark jobs; `kafkalite pipeline` is the same on the command line.

    from kafkalite.spark.pipelines import Columns, archive, audit, prove, replay, seed

Each raises PipelineError, whose message is a sentence for the user.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkalite.spark.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from kafkalite.spark.audit.auditing import audit
    from kafkalite.spark.pipelines.archiving import archive
    from kafkalite.spark.pipelines.columns import Columns
    from kafkalite.spark.pipelines.replaying import replay
    from kafkalite.spark.pipelines.seeding import seed
    from kafkalite.spark.proof.proving import prove

__all__ = ["Columns", "PipelineError", "archive", "audit", "prove", "replay", "seed"]

# Imported when asked for: executors need one of them, and an error none.
_MODULES = {
    "Columns": "kafkalite.spark.pipelines.columns",
    "archive": "kafkalite.spark.pipelines.archiving",
    "audit": "kafkalite.spark.audit.auditing",
    "prove": "kafkalite.spark.proof.proving",
    "replay": "kafkalite.spark.pipelines.replaying",
    "seed": "kafkalite.spark.pipelines.seeding",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
