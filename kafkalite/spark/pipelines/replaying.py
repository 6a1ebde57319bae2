"""replay: an archive back into a topic, at the same offsets or behind what is there, at any speed."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from tqdm import tqdm

from kafkalite.spark import digest
from kafkalite.spark.encode import milliseconds
from kafkalite.spark.pipelines.delivery import Delivery
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.jobs import run_parts, spark_session
from kafkalite.spark.pipelines.manifest import ArchivedRange, ArchivedTopic, Manifest
from kafkalite.spark.pipelines.pieces import Piece, PieceWriter
from kafkalite.spark.pipelines.sinks import DataDirectorySink, Sink, open_sink
from kafkalite.spark.pipelines.stored import reader
from kafkalite.spark.pipelines.summary import PartitionSummary, Summary
from kafkalite.wire.compression import Compression, codec_named
from kafkalite.wire.records import RecordBatch, TimestampType
