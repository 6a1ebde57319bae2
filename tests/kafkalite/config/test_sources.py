"""Configs come from flags, environment and file, in this order."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from conformance.soak.stolen_time import StolenTime
from kafkalite.config import (
    BROKER_CONFIGS,
    BrokerConfig,
    ConfigError,
    Support,
)
from kafkalite.config.sources import find, read_file


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "# as Kafka's own\nnum.partitions = 2\nlog.retention.hours=2\nfetch.max.bytes:1024\n"
    )
    config = BrokerConfig.from_sources(
        file,
        {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_LOG_RETENTION_HOURS": "3", "PATH": "/bin"},
        {"num.partitions": "4"},
    )
    assert config.integer("num.partitions") == 4
    assert config.integer("log.retention.hours") == 3
    assert config.integer("fetch.max.bytes") == 1024
    assert config.integer("message.max.bytes") == 1048588


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the config file .*x: No such file"):
        BrokerConfig.from_sources(tmp_path / "x")


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    """Latin-1, with \\uXXXX for all else: a rack with an umlaut is the same on brokers of both
    kinds (java.util.Properties.load, which Utils.loadProps calls)."""
    path = tmp_path / "server.properties"
    path.write_bytes(
        b"broker.rack=M\xfcnchen\r\n"
        b"ssl.keystore.password = \\u20ac\\ud83d\\ude00 \\\n   x\\:\\=\n"
        b"! UTF-8 is no exception:\rlog.dirs:/r\xc3\xa4ume\x85\n"
    )
    assert read_file(path) == {
        "broker.rack": "München",
        "ssl.keystore.password": "€😀 x:=",
        "log.dirs": "/rÃ¤ume\x85",
    }
    path.write_bytes(b"broker.rack=\\u00f\n")
    with pytest.raises(ConfigError, match="u00f"):
        read_file(path)


def test_an_unknown_name_in_a_file_is_left_aside_and_an_idle_one_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=4\nsome.plugin.thing=1\n")
    with caplog.at_level(logging.INFO):
        config = BrokerConfig.from_sources(file)
    assert config.integer("num.io.threads") == 4
    assert "config some.plugin.thing is not known" in caplog.text
    assert "no effect here: num.io.threads" in caplog.text
    assert BROKER_CONFIGS["num.io.threads"].support is Support.ACCEPTED


def test_flags_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkalite.__main__ import parse_arguments, properties
    from kafkalite.config import BrokerConfig

    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\ndefault.replication.factor=2\nlog.retention.ms=2\n")
    environment = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_LOG_RETENTION_MS": "3"}
    flags = parse_arguments(["--config", str(file), "--set", "num.partitions=4", "--port", "7"])
    config = BrokerConfig.from_sources(
        flags.config, environment, properties(flags), host=flags.host, port=flags.port
    )
    assert config.integer("num.partitions") == 4
    assert config.integer("log.retention.ms") == 3
    assert config.integer("default.replication.factor") == 2
    assert str(config.listeners()[0]) == "PLAINTEXT://127.0.0.1:7"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("num.partitions=x", "Invalid value x for configuration num.partitions: Not a number of"),
        ("listeners=9092", "listeners: '9092' is not NAME://host:port"),
        ("remote.log.storage.system.enable=true", "config remote.log.storage.system.enable=true:"),
    ],
)
def test_a_bad_value_in_a_file_names_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"{text}\n")
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.from_sources(file)
    assert str(refused.value).startswith(f"{file}: {sentence}")


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("KAFKA_NUM_PARTITIONS", "x", "Invalid value x for configuration num.partitions: "),
        ("KAFKA_LISTENERS", "9092", "listeners: '9092' is not NAME://host:port"),
        ("KAFKA_ADVERTISED_LISTENERS", "X://h:1", "listeners: no security protocol for "),
    ],
)
def test_a_bad_value_in_the_environment_names_the_variable(
    variable: str, value: str, sentence: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.from_sources(environment={variable: value})
    assert str(refused.value).startswith(f"{variable}: {sentence}")


def test_a_value_that_a_flag_replaces_is_not_blamed(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listeners=PLAINTEXT://:9092\n")
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.from_sources(file, {}, {"listeners": "9092"})
    assert str(refused.value).startswith("listeners: '9092' is not")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("num.partitons", " (did you mean num.partitions?)"),
        ("log.retention.hour", " (did you mean log.retention.hours?)"),
        ("service.port", ""),
        ("my.plugin.setting", ""),
    ],
)
def test_only_a_slip_of_the_finger_is_corrected(name: str, suggestion: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig({name: "1"})
    assert str(refused.value) == f"there is no config {name}{suggestion}"


IMAGE = {
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9092",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092",
}
BEHIND_A_MAPPED_PORT = IMAGE | {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://host:29092"}
TWO = {
    "KAFKA_LISTENERS": "IN://0.0.0.0:9092, OUT://:9094",
    "KAFKA_ADVERTISED_LISTENERS": "IN://broker:9092,OUT://localhost:9094",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "IN:PLAINTEXT,OUT:PLAINTEXT",
}


@pytest.mark.parametrize(
    ("environment", "host", "port", "listeners", "advertised"),
    [
        ({}, None, 7, ["PLAINTEXT://127.0.0.1:7"], ["PLAINTEXT://127.0.0.1:7"]),
        ({}, "localhost", None, ["PLAINTEXT://localhost:9092"], ["PLAINTEXT://localhost:9092"]),
        ({}, "::1", 0, ["PLAINTEXT://[::1]:0"], ["PLAINTEXT://[::1]:0"]),
        (IMAGE, None, 19095, ["PLAINTEXT://0.0.0.0:19095"], ["PLAINTEXT://localhost:19095"]),
        (IMAGE, "127.0.0.1", 7, ["PLAINTEXT://127.0.0.1:7"], ["PLAINTEXT://localhost:7"]),
        (BEHIND_A_MAPPED_PORT, None, 7, ["PLAINTEXT://0.0.0.0:7"], ["PLAINTEXT://host:29092"]),
        (
            TWO,
            None,
            7,
            ["IN://0.0.0.0:7", "OUT://:9094"],
            ["IN://broker:7", "OUT://localhost:9094"],
        ),
    ],
)
def test_host_and_port_change_the_first_listener(
    environment: dict[str, str],
    host: str | None,
    port: int | None,
    listeners: list[str],
    advertised: list[str],
) -> None:
    config = BrokerConfig.from_sources(None, environment, {}, host=host, port=port)
    assert [str(each) for each in config.listeners()] == listeners
    assert [str(each) for each in config.advertised_listeners()] == advertised


@pytest.mark.parametrize("family", ["consumer", "share", "streams"])
def test_assignments_come_as_soon_as_they_may(family: str) -> None:
    own, least = (f"group.{family}.{which}assignment.interval.ms" for which in ("", "min."))
    assert BrokerConfig().integer(own) == 0
    assert BrokerConfig({least: "500"}).integer(own) == 500


def test_every_interface_needs_an_address_for_clients() -> None:
    """The refusal says what to write, and that is taken."""
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.from_sources(host="0.0.0.0", port=7)
    setting = "advertised.listeners=PLAINTEXT://localhost:7"
    assert f"--set {setting}" in str(refused.value)
    name, _, value = setting.partition("=")
    BrokerConfig.from_sources(None, {}, {name: value}, host="0.0.0.0", port=7)


def test_what_secures_a_listener_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listener.name.foo.plain.sasl.jaas.config=x\n")
    with pytest.raises(ConfigError, match=r"listener\.name\.foo\..*: there is no listener FOO$"):
        BrokerConfig.from_sources(file)


def test_a_name_of_nothing_but_dots_is_looked_up_in_no_time() -> None:
    """A request may have thousands of them, of 32 kB each."""
    began, stolen = time.thread_time(), StolenTime()
    for name in ("a." * 16_000, "." * 32_000):
        assert [find(f"listener.name.{name}") for _ in range(20)] == [None] * 20
    assert stolen.own_seconds(time.thread_time() - began, most=0.2) < 0.2
    found = find("listener.name.x.scram-sha-256.sasl.jaas.config")
    assert found is not None
    assert found.name == "sasl.jaas.config"
    assert find(f"listener.name.{'a.' * 16_000}sasl.jaas.config") is found


TOLD = "SASL_PLAINTEXT://old.example:9092"


@pytest.mark.parametrize(
    ("file", "environment", "flags", "told"),
    [
        ({"listeners": TOLD, "advertised.listeners": TOLD}, {}, {}, "127.0.0.1"),
        (
            {"listeners": "PLAINTEXT://:9092"},
            {"KAFKA_ADVERTISED_LISTENERS": TOLD, "KAFKA_LISTENERS": TOLD},
            {},
            "127.0.0.1",
        ),
        (
            {"advertised.listeners": "PLAINTEXT://a:1", "listeners": "PLAINTEXT://:1"},
            {},
            {},
            "127.0.0.1",
        ),
        ({"advertised.listeners": TOLD}, {}, {}, "old.example"),
        ({}, {"KAFKA_ADVERTISED_LISTENERS": TOLD}, {}, "old.example"),
        ({"listeners": TOLD}, {}, {"advertised.listeners": TOLD}, "old.example"),
    ],
)
def test_the_addresses_told_go_with_the_listeners_that_a_new_one_replaces(
    tmp_path: Path,
    file: dict[str, str],
    environment: dict[str, str],
    flags: dict[str, str],
    told: str,
) -> None:
    path = tmp_path / "server.properties"
    path.write_text("".join(f"{name}={text}\n" for name, text in file.items()))
    new = {"listeners": "SASL_PLAINTEXT://127.0.0.1:7", **flags}
    config = BrokerConfig.from_sources(path, environment, new, True)
    assert [each.host for each in config.advertised_listeners()] == [told]
    assert [each.port for each in config.listeners()] == [7]


def test_set_listeners_are_told_as_the_file_has_it(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("listeners=PLAINTEXT://:1\nadvertised.listeners=PLAINTEXT://a:1\n")
    config = BrokerConfig.from_sources(path, {}, {"listeners": "PLAINTEXT://0.0.0.0:1"})
    assert [str(each) for each in config.advertised_listeners()] == ["PLAINTEXT://a:1"]
