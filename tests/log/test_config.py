"""A log's configs: Kafka's defaults, and the fields that follow from others."""

import dataclasses

import pytest

from kafkalite.log.config import FOREVER, LogConfig


def test_the_defaults_are_kafka_s() -> None:
    config = LogConfig()
    assert (config.segment_bytes, config.segment_ms) == (1 << 30, 7 * 86_400_000)
    assert (config.retention_ms, config.retention_bytes) == (7 * 86_400_000, -1)
    assert (config.max_message_bytes, config.index_interval_bytes) == ((1 << 20) + 12, 4096)
    assert (config.flush_messages, config.flush_ms) == (FOREVER, FOREVER)


@pytest.mark.parametrize(
    ("policy", "compact", "delete"),
    [
        (("delete",), False, True),
        (("compact",), True, False),
        (("compact", "delete"), True, True),
        ((), False, False),
    ],
)
def test_the_cleanup_policy(policy: tuple[str, ...], compact: bool, delete: bool) -> None:
    config = LogConfig(cleanup_policy=policy)
    assert (config.compact, config.delete) == (compact, delete)


@pytest.mark.parametrize(
    ("interval", "most"), [(0, 0), (4096, 4096), (131_072, 131_072), (2**31 - 1, 131_072)]
)
def test_an_index_has_entries_often_enough(interval: int, most: int) -> None:
    config = LogConfig(index_interval_bytes=interval)
    assert (config.most_unindexed_bytes, config.index_interval_bytes) == (most, interval)


@pytest.mark.parametrize(
    ("policy", "max_compaction_lag_ms", "max_segment_ms"),
    [
        ("compact", 1000, 1000),
        ("compact", 9000, 5000),
        ("compact", 0, 5000),
        ("delete", 1000, 5000),
    ],
)
def test_a_compacted_segment_rolls_in_time_for_the_cleaner(
    policy: str, max_compaction_lag_ms: int, max_segment_ms: int
) -> None:
    config = LogConfig(
        cleanup_policy=(policy,),
        segment_ms=5000,
        max_compaction_lag_ms=max_compaction_lag_ms,
    )
    assert config.max_segment_ms == max_segment_ms


@pytest.mark.parametrize(
    ("codec", "timestamp_type", "keeps"),
    [
        ("producer", "CreateTime", True),
        ("producer", "LogAppendTime", False),
        ("zstd", "CreateTime", False),
        ("uncompressed", "CreateTime", False),
    ],
)
def test_batches_are_kept_unless_stamped_or_compressed_anew(
    codec: str, timestamp_type: str, keeps: bool
) -> None:
    config = LogConfig(compression_type=codec, message_timestamp_type=timestamp_type)
    assert config.keeps_batches is keeps
    assert config.log_append_time is (timestamp_type == "LogAppendTime")


def test_a_batch_fits_the_message_limit_and_the_segment() -> None:
    assert LogConfig(max_message_bytes=100, segment_bytes=200).max_batch_bytes == 100
    assert LogConfig(max_message_bytes=300, segment_bytes=200).max_batch_bytes == 200


def test_a_changed_copy_works_its_fields_out_anew() -> None:
    config = dataclasses.replace(LogConfig(), cleanup_policy=("compact",))
    assert config.compact
    assert config == LogConfig(cleanup_policy=("compact",))


def test_the_jitter_is_below_its_limit_and_the_segment_s_time() -> None:
    assert LogConfig().random_segment_jitter_ms("t-0/0") == 0
    found = {LogConfig(segment_jitter_ms=4).random_segment_jitter_ms("t-0/0") for _ in range(200)}
    assert found == {0, 1, 2, 3}
    short = LogConfig(segment_ms=2, segment_jitter_ms=100)
    assert {short.random_segment_jitter_ms("t-0/0") for _ in range(100)} == {0, 1}


def test_the_jitter_of_a_seed_is_the_segment_s_own_each_time() -> None:
    def found(seed: int) -> list[int]:
        config = LogConfig(segment_jitter_ms=10**6, jitter_seed=seed)
        return [config.random_segment_jitter_ms(f"t-0/{base}") for base in range(5)]

    assert found(7) == found(7)
    assert len(set(found(7))) == 5
    assert set(found(7)).isdisjoint(found(8))


def test_not_more_replicas_are_needed_than_there_are() -> None:
    config = LogConfig(min_insync_replicas=2)
    assert [config.needed_in_sync(count) for count in (1, 2, 3)] == [1, 2, 2]
