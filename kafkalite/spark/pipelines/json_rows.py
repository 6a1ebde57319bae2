"""Rows of a table as JSON objects, column by column: no Python per record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.pipelines.errors import PipelineError

_EMPTY = pa.scalar("", pa.large_string())


def json_objects(table: Any, names: Sequence[str]) -> Any:
    """One object per row with the columns `names`, in that order. Raises PipelineError."""
    return _objects(names, [json_values(table.column(name), name) for name in names])


def _objects(names: Sequence[str], values: Sequence[Any]) -> Any:
    pieces: list[Any] = []
    opening = "{"
    for name, column in zip(names, values, strict=True):
        pieces += [_scalar(opening + json.dumps(name) + ":"), column]
        opening = ","
    return pc.binary_join_element_wise(*pieces, _scalar("}"), _EMPTY)


def json_values(column: Any, name: str) -> Any:
    """Each value as JSON. Raises PipelineError for a type that has no JSON form."""
    column = plain(column)
    kind = column.type
    if pa.types.is_null(kind):
        return pa.array(["null"] * len(column), pa.large_string())
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        text = column.cast(pa.large_string())
    elif pa.types.is_floating(kind):
        finite = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
        text = finite.cast(pa.large_string())
    elif pa.types.is_large_string(kind) or pa.types.is_temporal(kind):
        text = _quoted(column.cast(pa.large_string()))
    elif pa.types.is_struct(kind) and not kind.num_fields:
        text = pa.array(["{}"] * len(column), pa.large_string())
    elif pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        text = _objects(names, [json_values(each, name) for each in column.flatten()])
    elif pa.types.is_map(kind):
        column = column.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        items = column.flatten()
        keys, values = (json_values(each, name) for each in items.flatten())
        quote = _scalar('"')
        quoted = pc.binary_join_element_wise(quote, keys, quote, _EMPTY)
        keys = pc.if_else(pc.starts_with(keys, '"'), keys, quoted)
        entries = pc.binary_join_element_wise(keys, _scalar(":"), values, _EMPTY)
        text = _joined(column, entries, "{", "}")
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        text = _joined(column, json_values(column.flatten(), name), "[", "]")
    else:
        raise PipelineError(
            f"column {name} is of type {kind}, which has no plain JSON form: "
            "choose others with --value"
        )
    return pc.if_else(column.is_valid(), text, None).fill_null("null")


def plain(column: Any) -> Any:
    """The column in one piece, and of the widest of the types that hold the same."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    is_list = pa.types.is_fixed_size_list(kind)
    return column.cast(pa.large_list(kind.value_field)) if is_list else column


def _joined(lists: Any, elements: Any, opening: str, closing: str) -> Any:
    """The texts of the elements of each list, with commas between."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    ends = np.cumsum(lengths, dtype=np.int64)
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), ends]))
    joined = pc.binary_join(pa.LargeListArray.from_arrays(offsets, elements), _scalar(","))
    return pc.binary_join_element_wise(_scalar(opening), joined, _scalar(closing), _EMPTY)


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
