"""Configs of single groups (KIP-848, 932, 1071, 1103): which values are taken, and why others are
not."""

from __future__ import annotations

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.test_alter_configs import DELETE, GROUP, SET, altering, described
from kafkalite.config import BROKER_CONFIGS, GROUP_CONFIGS
from kafkalite.config.definition import ConfigType
from kafkalite.wire.api_keys import ApiKey

NUMBERS = [name for name, config in GROUP_CONFIGS.items() if config.type is ConfigType.INT]
WORDS = {
    "share.auto.offset.reset": [
        *("latest", "earliest", "LATEST", "none", "", "by_duration", "by_duration:"),
        *("by_duration:PT1H", "by_duration:P1DT2H3M4.5S", "by_duration:pt1h", "BY_DURATION:PT1H"),
        *("by_duration:P", "by_duration:PT", "by_duration:P1DT", "by_duration:P1Y"),
        *("by_duration:1H", "by_duration:PT1M1H", "by_duration:PT0S", "by_duration:PT,5S"),
        *("by_duration:PT0,5S", "by_duration:PT.5S", "by_duration:PT1.S", "by_duration:PT1.5M"),
        *("by_duration:-PT1H", "by_duration:PT-1H", "by_duration:-PT-1H", "by_duration:PT+1H"),
        *("by_duration:P1DT-1H", "by_duration:P-1DT25H", "by_duration:PT-0.5S"),
        *("by_duration:PT1.123456789S", "by_duration:PT1.1234567891S"),
        *("by_duration:PT9223372036854775807S", "by_duration:PT9223372036854775808S"),
        *("by_duration:P106751991167300D", "by_duration:P106751991167301D", " latest"),
        *("by_duration:+P1D", "by_duration:PT\u0661H"),
    ],
    "share.isolation.level": [
        *("read_committed", "read_uncommitted", "READ_COMMITTED", " read_committed ", "", "x"),
    ],
    "share.renew.acknowledge.enable": ["true", "false", "TRUE", " true", "yes", ""],
}


def test_all_configs_are_tried() -> None:
    assert sorted([*NUMBERS, *WORDS]) == sorted(GROUP_CONFIGS)


def limits(name: str) -> set[int]:
    """The numbers at which something may begin or end: the broker's limits, and Kafka's own."""
    family, _, rest = name.partition(".")
    behind = [f"group.{family}.{side}{rest}" for side in ("", "min.", "max.")]
    behind.append(f"group.{family}.max.{rest.removeprefix('num.')}")
    known = {int(BROKER_CONFIGS[each].default or 0) for each in behind if each in BROKER_CONFIGS}
    return known | {0, 1, 2, 100, 1000, 2**31 - 1}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(pair: Pair, topic: str, name: str) -> None:
    values = sorted({edge + step for edge in limits(name) for step in (-1, 0, 1)})
    for text in [*map(str, values), "", " 7", "7 ", "x", "1e3", "5.0", "0x10", None]:
        set_and_show(pair, topic, name, text)


@pytest.mark.parametrize("name", WORDS)
def test_words(pair: Pair, topic: str, name: str) -> None:
    for text in WORDS[name]:
        set_and_show(pair, topic, name, text)


def set_and_show(pair: Pair, group: str, name: str, text: str | None) -> None:
    """Set it, and look at it if it was taken."""
    request = altering(GROUP, group, (name, SET, text))
    answer, _ = pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    if not answer.responses[0].error_code:
        pair.settle()
        pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(GROUP, group))


@pytest.mark.parametrize("family", ["consumer", "share", "streams"])
def test_a_session_is_longer_than_an_interval(pair: Pair, topic: str, family: str) -> None:
    """The two are held against each other as they would be then."""
    session, interval = f"{family}.session.timeout.ms", f"{family}.heartbeat.interval.ms"
    for changes in (
        [(session, SET, "50000"), (interval, SET, "15000")],
        [(session, SET, "x"), (interval, SET, "1")],
        [(session, SET, "1"), (interval, SET, "1")],
        [(interval, SET, "1"), (session, SET, "1")],
        [(session, SET, "99999999"), (interval, SET, "1")],
        [(session, DELETE, None)],
        [("no.such", SET, "1"), (session, SET, "1")],
        [(session, SET, "1"), ("no.such", SET, "1")],
    ):
        request = altering(GROUP, topic, *changes)
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        pair.settle()
        pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, described(GROUP, topic))


def test_several_are_wrong(pair: Pair, topic: str) -> None:
    """The first in Kafka's order is told, whatever the order of the request."""
    wrong = {name: "1" for name in NUMBERS if "assignment" not in name}
    wrong |= {"streams.num.standby.replicas": "99"}
    while wrong:
        told = set()
        for names in (list(wrong), list(reversed(wrong))):
            changes = [(name, SET, wrong[name]) for name in names]
            request = altering(GROUP, topic, *changes)
            answer, _ = pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
            told.add(answer.responses[0].error_message)
        (said,) = told
        if said is None:
            break
        named = [name for name in wrong if f"{name} " in said or f" {name}:" in said]
        assert named, said
        del wrong[named[0]]
