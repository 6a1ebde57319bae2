"""Every odd kind of batch, and what Apache Kafka 4.3.1 answers to it.

The answers were asked of Apache Kafka; conformance/differential/test_record_contents.py asks again.
"""

import pytest

from conformance.harness.odd_batches import KINDS, pack
from kafkalite.log.acceptance import accept
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.config import LogConfig
from kafkalite.log.validation import validate
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError

NOW_MS = 1_700_000_000_000
LETTERS = {
    ErrorCode.INVALID_RECORD: "R",
    ErrorCode.UNKNOWN_SERVER_ERROR: "S",
    ErrorCode.INVALID_TIMESTAMP: "T",
}
CONFIGS = (
    LogConfig(),
    LogConfig(cleanup_policy=("compact",)),
    LogConfig(compression_type="uncompressed", message_timestamp_type="LogAppendTime"),
)
# In each of the configs, for each codec: taken (.), or refused.
ANSWERS = {
    "good": "..... ..... .....",
    "noise for records": "RRRRR RRRRR RRRRR",
    "noise that begins with a long varint": "SRRRR SRRRR SRRRR",
    "zeros for records": "RRRRR RRRRR RRRRR",
    "no bytes for records": "RRRRR RRRRR RRRRR",
    "noise instead of the codec": "RSSSS RSSSS RSSSS",
    "nothing instead of the codec": "RSSSR RSSSR RSSSR",
    "compressed data cut in half": "RSSSS RSSSS RSSSS",
    "compressed data without its last byte": "RSSSS RSSSS RSSSS",
    "compressed data without its last five bytes": "RSSSS RSSSS RSSSS",
    "three bytes behind compressed data": "R...S R...S R...S",
    "forty bytes behind compressed data": "R.S.S R.S.S R.S.S",
    "compressed data twice": "RRR.R RRR.R RRR.R",
    "a bit of compressed data flipped": ".S..S .S..S .S..S",
    "bytes behind the records": "RRRRR RRRRR RRRRR",
    "one record behind the last": "RRRRR RRRRR RRRRR",
    "one record too few": "RRRRR RRRRR RRRRR",
    "one byte too few": "RRRRR RRRRR RRRRR",
    "count larger than the records": "RRRRR RRRRR RRRRR",
    "count smaller than the records": "RRRRR RRRRR RRRRR",
    "count 0": "RRRRR RRRRR RRRRR",
    "count negative": "RRRRR RRRRR RRRRR",
    "count unlike the last offset": "RRRRR RRRRR RRRRR",
    "last offset negative": "RRRRR RRRRR RRRRR",
    "a million records said": "RRRRR RRRRR RRRRR",
    "offsets all 0": ".SSSS .SSSS .....",
    "offsets backwards": ".SSSS .SSSS .....",
    "offsets with a gap": ".SSSS .SSSS .....",
    "offset negative": ".SSSS .SSSS .....",
    "offset beyond 32 bits": "..... ..... .....",
    "offset of six bytes": "RRRRR RRRRR RRRRR",
    "offset in more bytes than needed": "..... ..... .....",
    "size one too small": "R.... R.... RRRRR",
    "size one too large": "R.... R.... RRRRR",
    "size of two records": "R.... R.... RRRRR",
    "size 0": "R.... R.... RRRRR",
    "size negative": "R.... R.... RRRRR",
    "size huge": "R.... R.... RRRRR",
    "size of six bytes": "SRRRR SRRRR SRRRR",
    "key reaches behind its record": "RRRRR RRRRR RRRRR",
    "key reaches behind the batch": "RRRRR RRRRR RRRRR",
    "key size of six bytes": "RRRRR RRRRR RRRRR",
    "key size -5": "..... RRRRR .....",
    "value size -3": "..... ..... .....",
    "value reaches behind the batch": "RRRRR RRRRR RRRRR",
    "value of no bytes": "..... ..... .....",
    "value null": "..... ..... .....",
    "headers": "..... ..... .....",
    "header count negative": "RRRRR RRRRR RRRRR",
    "header count too large": "RRRRR RRRRR RRRRR",
    "header count huge": "RRRRR RRRRR RRRRR",
    "header without a key": "RRRRR RRRRR RRRRR",
    "header key too long": "RRRRR RRRRR RRRRR",
    "header value too long": "RRRRR RRRRR RRRRR",
    "header key that is no text": "..... ..... .....",
    "attributes of a record": "..... ..... .....",
    "timestamp of eleven bytes": "RRRRR RRRRR RRRRR",
    "timestamp beyond 64 bits": "..... ..... .....",
    "one timestamp 28 h ahead": "TTTTT TTTTT .....",
    "one timestamp 28 h ahead, not in the header": "TTTTT TTTTT .....",
    "one timestamp of 1970": "..... ..... .....",
    "timestamps from the second on": "..... ..... .....",
    "largest timestamp said too small": "..... ..... .....",
    "largest timestamp said too large": "..... ..... .....",
    "largest timestamp said 28 h ahead": "..... ..... .....",
    "no timestamps": "..... ..... .....",
    "negative timestamps": "..... ..... .SSSS",
    "all without keys": "..... RRRRR .....",
    "one without a key": "..... RRRRR .....",
    "control records": "RRRRR RRRRR RRRRR",
    "stamped by the client": "..... ..... TTTTT",
    "stamped by the client 28 h ahead": "TTTTT TTTTT TTTTT",
    "stamped by the client with no time": "TTTTT TTTTT TTTTT",
    "a delete horizon": "..... ..... .....",
    "attribute 7": "..... ..... .....",
    "attribute 8": "..... ..... .....",
    "attribute 8, and a wrong largest timestamp": "..... ..... .....",
    "codec 7": "SSSSS SSSSS SSSSS",
    "linked blocks of lz4": "...S. ...S. ...S.",
    "wrong content checksum of lz4": "..... ..... .....",
    "one block of snappy": "..... ..... .....",
    "compressed data in two streams": "...R. ...R. ...R.",
    "a block of nothing": "..SR. ..SR. ..SR.",
    "snappy of version 0": "..... ..... .....",
    "half a stream behind compressed data": "RRS.. RRS.. RRS..",
    "an odd record, and compressed data without their last byte": "RSSSS RSSSS RRSRR",
    "an odd record, and noise behind compressed data": "RRSRR RRSRR RRSRR",
    "noise at the end of time": "RRRRR RRRRR RRRRR",
    "records at the end of time": "TTTTT TTTTT .SSSS",
}


def answer(records: bytes, config: LogConfig) -> str:
    try:
        validate(records, config, name="t-0", origin=AppendOrigin.CLIENT, now_ms=NOW_MS)
    except KafkaError as error:
        assert accept(records, config, NOW_MS) is None
        return LETTERS[error.code]
    return "."


@pytest.mark.parametrize("kind", KINDS)
def test_odd_batches_are_answered_as_kafka_does(kind: str) -> None:
    answers = [
        "".join(
            answer(pack(codec, NOW_MS, **KINDS[kind](codec, NOW_MS)), config)
            for codec in Compression
        )
        for config in CONFIGS
    ]
    assert " ".join(answers) == ANSWERS[kind]
