"""Values that are kept elsewhere are looked up as Apache Kafka's providers do."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.providers import resolved

CLASSES = {
    f"config.providers.{name}.class": f"org.apache.kafka.common.config.provider.{kind}"
    for name, kind in {
        "env": "EnvVarConfigProvider",
        "file": "FileConfigProvider",
        "dir": "DirectoryConfigProvider",
    }.items()
}
PROVIDERS = {"config.providers": "env,file,dir", **CLASSES}


def value(text: str, environment: dict[str, str] | None = None, **parameters: str) -> str:
    """The value of a config that is set to `text`."""
    sources = {**PROVIDERS, **{f"config.providers.{name}": v for name, v in parameters.items()}}
    return resolved(sources, environment or {})({"broker.rack": text})["broker.rack"]


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "some.properties").write_text("user = bär\nempty=\n", encoding="utf-8")
    (tmp_path / "password").write_text("letters\n")
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", "1"),
        ("a-${env:A}-${env:A}${env:EMPTY}", "a-1-1"),
        ("${env:MISSING}", "${env:MISSING}"),
        ("${other:A}", "${other:A}"),
        ("${env}", "${env}"),
        ("${file:DIR/some.properties:user}", "bär"),
        ("${file:DIR/some.properties:empty}", ""),
        ("${file:DIR/some.properties:none}", "${file:DIR/some.properties:none}"),
        ("${file:user}", "${file:user}"),
        ("${dir:DIR:password}", "letters\n"),
        ("${dir:DIR:none}", "${dir:DIR:none}"),
        ("${dir:DIR/none:password}", "${dir:DIR/none:password}"),
        ("${dir:DIR/sub:../password}", "${dir:DIR/sub:../password}"),
    ],
)
def test_what_a_provider_has_takes_the_place_of_its_name(
    secrets: Path, text: str, expected: str
) -> None:
    text, expected = (each.replace("DIR", str(secrets)) for each in (text, expected))
    assert value(text, {"A": "1", "EMPTY": ""}) == expected


def test_providers_look_only_where_they_may(
    secrets: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert value("${env:A}", {"A": "1"}, **{"env.param.allowlist.pattern": "B.*"}) == "${env:A}"
    elsewhere = secrets / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(secrets / "some.properties")
    for path in (secrets / "some.properties", elsewhere / "link"):
        text = f"${{file:{path}:user}}"
        with caplog.at_level(logging.WARNING):
            assert value(text, **{"file.param.allowed.paths": str(elsewhere)}) == text
        assert f"The path {path} is not allowed to be accessed" in caplog.text
        assert value(text, **{"file.param.allowed.paths": str(secrets)}) == "bär"


@pytest.mark.parametrize(
    ("text", "parameters", "sentence"),
    [
        ("${env:path:A}", {}, "Path is not supported for EnvVarConfigProvider"),
        ("${file:/nowhere/x:A}", {}, "Could not read properties from file /nowhere/x"),
        ("", {"env.param.allowlist.pattern": "("}, r"allowlist\.pattern=\( is no pattern"),
        ("", {"file.param.allowed.paths": "x"}, "Path x is not absolute"),
        ("", {"dir.param.allowed.paths": "/nowhere/x"}, "Path /nowhere/x does not exist"),
        ("", {"env.class": "org.Own"}, "Invalid value org.Own for configuration config.providers"),
    ],
)
def test_what_cannot_be_looked_up_is_refused(
    text: str, parameters: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        value(text, **parameters)


def test_every_source_may_name_values_and_tell_of_providers(
    secrets: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = secrets / "server.properties"
    file.write_text(
        "config.providers=env\nnum.partitions=${env:PARTITIONS}\n"
        "ssl.keystore.password=${file:" + f"{secrets}/some.properties:user" + "}\n"
    )
    environment = {"PARTITIONS": "7", "KAFKA_BROKER_RACK": "${env:PLACE}", "PLACE": "here"}
    flags = {"config.providers": "env,file", **CLASSES, "log.dirs": "${env:PLACE}"}
    with caplog.at_level(logging.WARNING):
        config = BrokerConfig.from_sources(file, environment, flags)
    assert caplog.text == ""
    assert config.integer("num.partitions") == 7
    assert config.string("broker.rack") == "here"
    assert config.string("ssl.keystore.password") == "bär"
    assert [str(each) for each in config.log_dirs] == ["here"]
    environment["PARTITIONS"] = "x"
    with pytest.raises(ConfigError, match=r"server\.properties: Invalid value x for .* num\.part"):
        BrokerConfig.from_sources(file, environment, flags)


def test_without_providers_nothing_is_looked_up() -> None:
    config = BrokerConfig.from_sources(environment={"KAFKA_BROKER_RACK": "${env:HOME}"})
    assert config.string("broker.rack") == "${env:HOME}"
