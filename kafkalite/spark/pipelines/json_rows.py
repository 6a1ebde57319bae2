"""Rows of a table as JSON objects, column by column: no Python per record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.pipelines.errors import PipelineError

_EMPTY = pa.scalar("", pa.large_string())


def json_objects(table: Any, names: Sequence[str]) -> Any:
    """One object per row with the columns `names`, in that order. Raises PipelineError."""
    pieces: list[Any] = []
    opening = "{"
    for name in names:
        pieces += [_scalar(opening + json.dumps(name) + ":"), json_values(table.column(name), name)]
        opening = ","
    return pc.binary_join_element_wise(*pieces, _scalar("}"), _EMPTY)


def json_values(column: Any, name: str) -> Any:
    """Each value as JSON. Raises PipelineError for a type that has no JSON form."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_null(kind):
        return pa.array(["null"] * len(column), pa.large_string())
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        text = column.cast(pa.large_string())
    elif pa.types.is_floating(kind):
        finite = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
        text = finite.cast(pa.large_string())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_temporal(kind):
        text = _quoted(column.cast(pa.large_string()))
    else:
        raise PipelineError(
            f"column {name} is of type {kind}, which has no plain JSON form: "
            "choose others with --value"
        )
    return text.fill_null("null")


def _quoted(column: Any) -> Any:
    odd = pc.match_substring_regex(column, '[\\x00-\\x1f"\\\\]')
    if pc.any(odd).as_py():
        distinct = column.dictionary_encode()
        quoted = [json.dumps(each, ensure_ascii=False) for each in distinct.dictionary.to_pylist()]
        return pa.array(quoted, pa.large_string()).take(distinct.indices)
    quote = _scalar('"')
    return pc.binary_join_element_wise(quote, column, quote, _EMPTY)


def _scalar(text: str) -> Any:
    return pa.scalar(text, pa.large_string())
