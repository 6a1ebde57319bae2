"""Every wrong option is told in one sentence, before anything is read or written."""

from pathlib import Path

import pytest

from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.options import Limit, Where, read_options

AT = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subscribe": None}, "one of the options subscribe, assign, subscribePattern"),
        ({"assign": "{}"}, "subscribe and assign given"),
        ({"subscribe": " , "}, "option subscribe is empty"),
        ({"subscribe": None, "assign": '{"t": 1}'}, 'not JSON like {"topic": \\[0, 1\\]}'),
        ({"subscribe": None, "assign": "{}"}, "names no partition"),
        ({"subscribe": None, "subscribePattern": "("}, "option subscribePattern is '\\('"),
        ({"startingOffsets": "latest"}, "a batch would begin at its end"),
        ({"startingOffsets": '{"t": {"0": -1}}'}, "a batch would begin at its end"),
        ({"endingOffsets": "earliest"}, "a batch would end at its beginning"),
        ({"startingOffsets": "{"}, "option startingOffsets is '{', not JSON"),
        ({"startingOffsets": '{"t": 1}'}, "not JSON like"),
        ({"startingTimestamp": "yesterday"}, "not milliseconds since 1970"),
        ({"startingOffsetsByTimestampStrategy": "first"}, "it is error or latest"),
        ({"minPartitions": "0"}, "option minPartitions is '0': it is a whole number above 0"),
        ({"maxOffsetsPerTrigger": "many"}, "a whole number above 0"),
        ({"includeHeaders": "maybe"}, "it is true or false"),
        ({"kafka.isolation.level": "snapshot"}, "it is read_uncommitted or read_committed"),
        ({"kafka.security.protocol": "SASL_SSL"}, "only PLAINTEXT is read"),
        ({"kafka.auto.offset.reset": "earliest"}, "leave it out"),
        ({"minOffsetsPerTrigger": "5"}, "leave it out"),
        ({"kafka.bootstrap.servers": None}, "say where the records are"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, str | None], says: str) -> None:
    given = {key: value for key, value in {**AT, **options}.items() if value is not None}
    with pytest.raises(SparkSourceError, match=says):
        read_options({key.lower(): value for key, value in given.items()}, streaming=False)


def test_a_stream_has_no_end_and_may_begin_at_the_end() -> None:
    with pytest.raises(SparkSourceError, match="a stream has no end"):
        read_options({**AT, "endingoffsets": "latest"}, streaming=True)
    assert read_options(AT, streaming=True).start == Limit(Where.LATEST)
    assert read_options(AT, streaming=False).start == Limit(Where.EARLIEST)


def test_a_timestamp_wins_over_timestamps_over_offsets() -> None:
    options = {
        **AT,
        "startingoffsets": "earliest",
        "startingoffsetsbytimestamp": '{"t": {"0": 5}}',
        "endingtimestamp": "9",
        "endingoffsetsbytimestamp": '{"t": {"0": 5}}',
    }
    read = read_options(options, streaming=False)
    assert read.start == Limit(Where.TIMESTAMPS, {("t", 0): 5})
    assert read.end == Limit(Where.TIMESTAMP, timestamp=9)


def test_paths_and_isolation() -> None:
    given = {**AT, "path": "/a, /b", "kafka.isolation.level": "READ_COMMITTED"}
    read = read_options(given, streaming=False)
    assert read.paths == (Path("/a"), Path("/b"))
    assert read.isolation is Isolation.READ_COMMITTED
    assert read.fail_on_data_loss


def test_a_group_id_is_taken_as_by_the_connector() -> None:
    assert read_options({**AT, "kafka.group.id": "g"}, streaming=True).topics == ("t",)
