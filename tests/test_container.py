"""Checks of the container without an engine: its settings mean what they should."""

import os
import re
import socket
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkalite.config import BROKER_CONFIGS, BrokerConfig
from kafkalite.config.quorum import quorum_config
from kafkalite.config.ready_file import own_path, write

ROOT = Path(__file__).parent.parent


def test_a_broker_on_any_port_is_healthy(tmp_path: Path) -> None:
    """Its ready file says so, which is there while it runs."""
    script = ROOT / "container" / "usr" / "local" / "bin" / "kafkalite-health"
    assert f'CMD ["{script.name}"]' in (ROOT / "Dockerfile").read_text()
    # A python that finds nothing on the usual port.
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "XDG_RUNTIME_DIR": str(tmp_path),
    }
    assert subprocess.run([str(script)], check=False, env=environment).returncode == 1
    ready = own_path(environment)
    assert ready is not None
    write({}, ready)
    assert subprocess.run([str(script)], check=False, env=environment).returncode == 0
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 0\n")
    ready.unlink()
    assert subprocess.run([str(script)], check=False, env=environment).returncode == 0


def compose_service(name: str) -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    service: dict[str, Any] = services[name]
    return service


def image_environment() -> dict[str, str]:
    """The ENV instruction of the Dockerfile."""
    return dict(re.findall(r"(KAFKA_[A-Z_]+)=(\S+)", (ROOT / "Dockerfile").read_text()))


def advertised(environment: dict[str, str]) -> list[tuple[str, str, int]]:
    return advertised_by(BrokerConfig.from_sources(environment=environment))


def advertised_by(config: BrokerConfig) -> list[tuple[str, str, int]]:
    listeners = config.advertised_listeners(config.node_id)
    return [(one.name, one.host, one.port) for one in listeners]


def in_the_image(own: dict[str, str], *arguments: str) -> dict[str, str]:
    """The environment of the broker in a container that is given its own variables."""
    entrypoint = ROOT / "container" / "usr" / "local" / "bin" / "kafkalite-entrypoint"
    done = subprocess.run(
        ["sh", str(entrypoint), "env", *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **image_environment(), **own},
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


IN_AND_OUT = "IN://kafka:29092,OUT://localhost:9094"
BY_NAMES = {"LISTENER_SECURITY_PROTOCOL_MAP": "IN:PLAINTEXT,OUT:PLAINTEXT"}


@pytest.mark.parametrize(
    ("own", "listeners", "told"),
    [
        (
            {},
            ["PLAINTEXT://0.0.0.0:9092"],
            [("PLAINTEXT", "localhost", 9092)],
        ),
        (
            {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:29092"},
            ["PLAINTEXT://0.0.0.0:29092"],
            [("PLAINTEXT", "kafka", 29092)],
        ),
        *(
            (
                {
                    f"{prefix}ADVERTISED_LISTENERS": IN_AND_OUT,
                    **{f"{prefix}{name}": value for name, value in BY_NAMES.items()},
                },
                ["IN://0.0.0.0:29092", "OUT://0.0.0.0:9094"],
                [("IN", "kafka", 29092), ("OUT", "localhost", 9094)],
            )
            for prefix in ("KAFKA_", "KAFKA_CFG_")
        ),
        (
            {"KAFKA_LISTENERS": "PLAINTEXT://:29092"},
            ["PLAINTEXT://:29092"],
            [("PLAINTEXT", socket.getfqdn(), 29092)],
        ),
    ],
)
def test_the_image_listens_everywhere_and_names_the_host_unless_it_is_told(
    own: dict[str, str], listeners: list[str], told: list[tuple[str, str, int]]
) -> None:
    environment = in_the_image(own)
    config = BrokerConfig.from_sources(environment=environment)
    assert [str(each) for each in config.listeners()] == listeners
    assert advertised_by(config) == told


def test_a_file_says_where_the_image_listens() -> None:
    assert not any("LISTENERS" in name for name in in_the_image({}, "A=1", "--config=x"))


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


CONTROLLERS = [f"controller-{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_brokers_of_the_cluster_find_controllers_and_clients_find_brokers(number: int) -> None:
    service = compose_service(f"broker-{number}")
    own = {name: str(value) for name, value in service["environment"].items()}
    config = BrokerConfig.from_sources(environment={**image_environment(), **own})
    quorum = quorum_config(config)
    assert [(each.host, each.port) for each in quorum.addresses] == [
        (name, 9093) for name in CONTROLLERS
    ]
    assert quorum.brokers.listener == "PLAINTEXT"
    assert config.node_id == number
    port = 9290 + number
    assert advertised_by(config) == [
        ("PLAINTEXT", f"broker-{number}", 19092),
        ("HOST", "localhost", port),
    ]
    assert service["ports"] == [f"{port}:{port}"]
    assert service["profiles"] == ["cluster"]


def test_controllers_of_the_cluster_are_those_that_vote() -> None:
    environments = {name: compose_service(name)["environment"] for name in CONTROLLERS}
    voters = {f"{each['KAFKA_NODE_ID']}@{name}:9093" for name, each in environments.items()}
    for name in (*CONTROLLERS, "broker-1", "broker-2", "broker-3"):
        environment = compose_service(name)["environment"]
        assert set(environment["KAFKA_CONTROLLER_QUORUM_VOTERS"].split(",")) == voters
        assert environment["CLUSTER_ID"] == environments["controller-1"]["CLUSTER_ID"]
    for each in environments.values():
        assert each["KAFKA_LISTENERS"] == "CONTROLLER://0.0.0.0:9093"
        known = each.keys() - {"CLUSTER_ID"}
        assert {name.removeprefix("KAFKA_").replace("_", ".").lower() for name in known} <= (
            BROKER_CONFIGS.keys()
        )


@pytest.mark.parametrize("name", ["build", "dist", ".venv", ".venv-spark", "kafkalite-data"])
def test_the_image_is_not_built_from_leftovers(name: str) -> None:
    patterns = (ROOT / ".dockerignore").read_text().split()
    assert any(fnmatch(name, pattern) for pattern in patterns)
