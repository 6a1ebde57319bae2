"""Rows go where Kafka's own producer would send them (murmur2)."""

from __future__ import annotations

import random

import pyarrow as pa
from kafka.partitioner.default import murmur2 as reference

from kafkalite.spark.partitioner import STICKY_ROWS, choose, murmur2


def test_hashes_are_kafkas() -> None:
    rng = random.Random(1)
    keys = [rng.randbytes(size) for size in range(70)] + [b"", b"21", b"foobar"]
    hashed = murmur2(pa.array(keys, pa.binary())).tolist()
    assert hashed == [reference(key) & 0xFFFFFFFF for key in keys]


def test_a_slice_and_chunks_hash_like_the_whole() -> None:
    keys = pa.array([b"a", b"bc", b"def", b"ghij", b"klmno"], pa.binary())
    whole = murmur2(keys).tolist()
    assert murmur2(keys.slice(2)).tolist() == whole[2:]
    assert murmur2(pa.chunked_array([keys.slice(0, 2), keys.slice(2)])).tolist() == whole


def test_keys_decide_and_rows_without_one_take_turns() -> None:
    keys = pa.array([b"a", None, b"b", None, b"a"], pa.binary())
    chosen = choose(keys, 5).tolist()
    assert chosen[0] == chosen[4] == (reference(b"a") & 0x7FFFFFFF) % 5
    assert chosen[2] == (reference(b"b") & 0x7FFFFFFF) % 5
    assert chosen[1] == chosen[3] == 0
    assert choose(keys, 5, sticky_from=3).tolist()[1] == 3


def test_rows_without_keys_fill_one_partition_before_the_next() -> None:
    nulls = pa.nulls(2 * STICKY_ROWS + 1, pa.binary())
    chosen = choose(nulls, 2, sticky_from=1).tolist()
    assert chosen == [1] * STICKY_ROWS + [0] * STICKY_ROWS + [1]
