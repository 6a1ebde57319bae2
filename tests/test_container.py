"""Checks of the container without an engine: its settings mean what they should."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkalite.config import BROKER_CONFIGS, BrokerConfig

ROOT = Path(__file__).parent.parent


def compose_service(name: str) -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    service: dict[str, Any] = services[name]
    return service


def image_environment() -> dict[str, str]:
    """The ENV instruction of the Dockerfile."""
    return dict(re.findall(r"(KAFKA_[A-Z_]+)=(\S+)", (ROOT / "Dockerfile").read_text()))


def advertised(environment: dict[str, str]) -> list[tuple[str, str, int]]:
    config = BrokerConfig.from_sources(environment=environment)
    return [(one.name, one.host, one.port) for one in config.advertised_listeners(1)]


def test_the_image_listens_everywhere_and_names_the_host() -> None:
    environment = image_environment()
    assert environment["KAFKA_LISTENERS"] == "PLAINTEXT://0.0.0.0:9092"
    assert advertised(environment) == [("PLAINTEXT", "localhost", 9092)]


def test_compose_offers_an_address_inside_and_one_outside() -> None:
    environment = {**image_environment(), **compose_service("kafkalite")["environment"]}
    assert advertised(environment) == [
        ("PLAINTEXT", "kafkalite", 19092),
        ("HOST", "localhost", 9092),
    ]


def test_apache_kafka_beside_it_is_asked_for_by_names_it_knows() -> None:
    for name in compose_service("kafka")["environment"]:
        assert name.removeprefix("KAFKA_").replace("_", ".").lower() in BROKER_CONFIGS


def test_the_spark_job_is_there() -> None:
    spark = compose_service("spark")
    (script,) = [word for word in spark["command"] if word.endswith(".py")]
    (mount,) = spark["volumes"]
    source, target = mount.split(":")[:2]
    assert (ROOT / source / Path(script).relative_to(target)).is_file()


def test_sparks_packages_go_where_its_user_can_write() -> None:
    """The image's user has no home folder, so that Ivy's default cannot be made."""
    command = compose_service("spark")["command"]
    (setting,) = [word for word in command if word.startswith("spark.jars.ivy=")]
    assert command[command.index(setting) - 1] == "--conf"
    assert Path(setting.partition("=")[2]).is_relative_to("/tmp")


@pytest.mark.parametrize("name", ["build", "dist", ".venv", ".venv-spark", "kafkalite-data"])
def test_the_image_is_not_built_from_leftovers(name: str) -> None:
    patterns = (ROOT / ".dockerignore").read_text().split()
    assert any(fnmatch(name, pattern) for pattern in patterns)
