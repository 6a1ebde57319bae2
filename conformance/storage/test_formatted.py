"""A directory that `kafka-storage format` made, and that no broker has opened yet."""

from pathlib import Path

from conformance.harness.broker import Broker
from conformance.harness.formatting import format_storage
from conformance.harness.tools import run_tool
from conformance.storage.conftest import Start

CLUSTER_ID = "k7LkQ2eNQ2mEwYj7vC1vTg"
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def formatted(directory: Path, *flags: str) -> Path:
    """A data directory that was formatted with these flags."""
    directory.mkdir()
    file, data = directory / "server.properties", directory / "data"
    file.write_text(f"{PROPERTIES}log.dirs={data}\n")
    format_storage("-t", CLUSTER_ID, "-c", str(file), *flags)
    return data


def asked(broker: Broker, tool: str, *flags: str) -> list[str]:
    """The lines that a tool prints about a broker, without the epoch of the metadata."""
    ran = run_tool(tool, "--bootstrap-server", broker.bootstrap, *flags)
    return [line.partition("Epoch:")[0].strip() for line in ran.output.splitlines()]


def test_features_and_credentials(tmp_path: Path, start: Start) -> None:
    """They are those that the storage was formatted with, on both brokers."""
    scram = "SCRAM-SHA-256=[name=alice,password=secret]"
    older = ("--feature", "group.version=0", "--feature", "transaction.version=1")
    data = formatted(tmp_path / "formatted", *older, "--add-scram", scram)
    said = []
    for kind in ("kafka", "kafkalite"):
        broker = start(kind, data)
        features = asked(broker, "kafka-features", "describe")
        users = asked(broker, "kafka-configs", "--describe", "--entity-type", "users")
        said.append((features, users))
        broker.kill()
    assert said[0] == said[1]
    assert "SCRAM-SHA-256=iterations=4096" in str(said[1][1])
