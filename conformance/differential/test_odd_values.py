"""Values of configs with blanks, signs, digits of other scripts and Java's own spellings, both
brokers asked alike."""

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.test_alter_configs import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    altering,
    described,
)
from kafkalite.wire.api_keys import ApiKey

WHOLE = (
    " 5 ",
    "+5",
    "-0",
    "0x10",
    "1_000",
    "\u0661\u0662",
    "1.5",
    "",
    "  ",
    "\u00a05",
    "\x1f5\x00",
)
DOUBLES = (
    "NaN",
    "Infinity",
    "0x1p-1",
    "1d",
    ".5",
    "1e400",
    "inf",
    "1_0.0",
    " 0.3 ",
    "-1e-5",
    "1e9",
)
WORDS = (" TRUE ", "false\0", " gzip ", "GZIP", " compact , delete ", "delete,delete", "compact,")
REPLICAS = ("0:1,", ",", "*,0:1", "0:1 , 1:2", "0:1,0:1", "00:01", "\u0661:1")


@pytest.mark.parametrize(
    "name",
    [
        "segment.index.bytes",
        "retention.ms",
        "internal.segment.bytes",
        "min.cleanable.dirty.ratio",
        "cleanup.policy",
        "compression.type",
        "preallocate",
        "leader.replication.throttled.replicas",
    ],
)
def test_a_topic(pair: Pair, topic: str, name: str) -> None:
    pair.create_topic(topic)
    for value in (*WHOLE, *DOUBLES, *WORDS, *REPLICAS):
        request = altering(TOPIC, topic, (name, SET, value))
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    pair.settle()
    pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(TOPIC, topic))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("message.max.bytes", WHOLE),
        ("log.cleaner.min.cleanable.ratio", DOUBLES),
        ("log.cleanup.policy", WORDS),
        ("cordoned.log.dirs", (" * ", "a , a", "  ")),
        ("leader.replication.throttled.rate", WHOLE),
        ("listener.name.plaintext.max.connections", ("+100", " 200 ")),
        ("listener.name.plaintext.connections.max.reauth.ms", ("x",)),
        ("listener.name.plaintext.num.network.threads", ("7", "0")),
        ("num.replica.fetchers", ("5", "0", "2")),
        ("log.cleaner.threads", ("5", "0")),
        ("log.cleaner.dedupe.buffer.size", ("1048576", "1048577", "-5")),
        ("log.roll.ms", ("0", "-1")),
        ("log.roll.jitter.ms", ("-1",)),
        ("log.retention.ms", ("0", "-5")),
        ("log.local.retention.ms", ("-1", "604800001")),
        ("group.share.assignment.interval.ms", ("15001", "-1")),
        ("metric.reporters", ("a.B", "  ")),
        ("principal.builder.class", ("", " a.B ")),
        ("super.users", ("x",)),
        ("alter.config.policy.class.name", ()),
    ],
)
def test_a_node(pair: Pair, name: str, values: tuple[str, ...]) -> None:
    for node in ("", "1"):
        for operation, value in [*((SET, value) for value in values), (DELETE, None)]:
            request = altering(BROKER, node, (name, operation, value))
            pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
            pair.settle()
            for asked in ("", "1"):
                about = described(BROKER, asked)
                about.resources[0].configuration_keys = [name]
                pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, about)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (GROUP, "consumer.assignment.interval.ms"),
        (GROUP, "streams.num.standby.replicas"),
        (GROUP, "share.isolation.level"),
        (CLIENT_METRICS, "interval.ms"),
        (CLIENT_METRICS, "metrics"),
    ],
)
def test_a_group_and_a_subscription(pair: Pair, topic: str, kind: int, name: str) -> None:
    for value in (*WHOLE, *WORDS, " read_committed "):
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altering(kind, topic, (name, SET, value)))
        pair.settle()
        pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(kind, topic))


@pytest.mark.parametrize("name", ["super.users", "metric.reporters", "log.cleanup.policy"])
def test_lists_of_a_node(pair: Pair, name: str) -> None:
    for value in ("compact ", "\tdelete", " a , b"):
        for operation in (APPEND, SUBTRACT):
            request = altering(BROKER, "1", (name, operation, value))
            pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    request = altering(BROKER, "1", (name, DELETE, None))
    pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
