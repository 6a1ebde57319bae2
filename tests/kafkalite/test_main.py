"""The command: what users mistype, and a run from start to signal."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import kafkalite
from kafkalite.__main__ import main
from kafkalite.testing import broker as test_broker

COMMAND = (sys.executable, "-m", "kafkalite", "--port", "0", "--log-level", "warning")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command in vain: exit code 2 and one line, which is returned."""
    try:
        code = main(list(arguments))
    except SystemExit as stopped:
        code = stopped.code
    output = capsys.readouterr()
    assert code == 2
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("kafkalite: ")
    return line


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--frobnicate"], "--frobnicate"),
        (["--vers"], "--vers"),  # no abbreviations: a later flag could make them mean another
        (["--port", "70000"], "70000"),
        (["--port", "-1"], "--port"),
        (["--nodes", "many"], "many"),
        (["--nodes", "0"], "kafkalite.nodes"),
        (["--set", "retention"], "retention"),
        (["--set", "log.retention.hour=1"], "log.retention.hours"),
        (["--set", "num.partitions=several"], "num.partitions"),
        (["--set", "listeners=nonsense"], "nonsense"),
        (["--config", "/nowhere/server.properties"], "/nowhere/server.properties"),
        (["--ready-file", "/nowhere/ready"], "/nowhere/ready"),
        (["--data-dir", "/proc/nowhere"], "/proc/nowhere"),
        (["--log-level", "loud"], "loud"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
        (["--temporary", "--data-dir", "here"], "--data-dir"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], named: str
) -> None:
    where = [] if "--data-dir" in arguments else ["--data-dir", str(tmp_path)]
    port = [] if {"--port", "listeners=nonsense"} & set(arguments) else ["--port", "0"]
    assert named in refused(capsys, *where, *port, *arguments)


def test_a_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert f"127.0.0.1:{port}" in refused(capsys, "--temporary", "--port", port)


def test_a_data_directory_in_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with started("--data-dir", str(tmp_path)):
        line = refused(capsys, "--port", "0", "--data-dir", str(tmp_path))
        assert str(tmp_path) in line
        assert "in use" in line


@contextmanager
def started(*arguments: str, descriptors: int = 1024) -> Iterator[subprocess.Popen[str]]:
    """The command as a process that may open so many files, once clients can connect."""
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("kafkalite "), process.stderr.read()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_from_start_to_signal(tmp_path: Path, number: signal.Signals) -> None:
    ready_file, data = tmp_path / "ready.json", tmp_path / "data"
    ready_file.write_text("left behind by a kill")
    with started("--ready-file", str(ready_file), "--data-dir", str(data)) as process:
        ready = json.loads(ready_file.read_text())
        assert ready["pid"] == process.pid
        assert ready["data_dir"] == str(data)
        assert len(ready["cluster_id"]) == 22
        host, _, port = ready["bootstrap"].rpartition(":")
        with socket.create_connection((host, int(port))) as client:
            process.send_signal(number)
            assert client.recv(1) == b""
        output, errors = process.communicate(timeout=10)
        assert (process.returncode, output, errors) == (0, "", "")
    assert not ready_file.exists()
    assert (data / ".kafka_cleanshutdown").exists()


def test_a_crowd_leaves_files_and_modules_to_those_who_are_served(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    arguments = ("--ready-file", str(ready_file), "--temporary", "--port", "0")
    with started(*arguments, descriptors=160) as process, ExitStack() as crowd:
        host, _, port = json.loads(ready_file.read_text())["bootstrap"].rpartition(":")
        served = crowd.enter_context(socket.create_connection((host, int(port)), timeout=10))
        for _ in range(200):
            crowd.enter_context(socket.create_connection((host, int(port)), timeout=10))
        assert process.stderr is not None
        assert "no more connections are accepted" in process.stderr.readline()
        # Metadata v1, all topics: the first of its kind, so that its handler must be imported now.
        served.sendall(struct.pack(">ihhihi", 14, 3, 1, 7, 0, -1))
        _, correlation_id = struct.unpack(">ii", served.recv(8))
        assert correlation_id == 7
        crowd.close()  # and when it has left, there is room again
        with socket.create_connection((host, int(port)), timeout=10) as late:
            late.sendall(struct.pack(">ihhihi", 14, 3, 1, 8, 0, -1))
            assert len(late.recv(8)) == 8


def test_a_temporary_directory_is_gone_at_exit(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    with started("--ready-file", str(ready_file), "--temporary") as process:
        data = Path(json.loads(ready_file.read_text())["data_dir"])
        assert data.is_dir()
        process.terminate()
        process.wait(10)
    assert not data.exists()


def test_several_nodes_have_ports_in_a_row_and_keep_them(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    flags = ("--ready-file", str(ready_file), "--data-dir", str(tmp_path / "data"), "--nodes", "3")
    with started(*flags) as process:
        first = json.loads(ready_file.read_text())["bootstrap"]
        process.terminate()
        process.wait(10)
    ports = [int(each.rpartition(":")[2]) for each in first.split(",")]
    assert ports == list(range(ports[0], ports[0] + 3))
    with started("--port", str(ports[0]), *flags):
        assert json.loads(ready_file.read_text())["bootstrap"] == first


def test_flags_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkalite.__main__ import parse_arguments, properties
    from kafkalite.config import BrokerConfig

    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\ndefault.replication.factor=2\nlog.retention.ms=2\n")
    environment = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_LOG_RETENTION_MS": "3"}
    flags = parse_arguments(["--config", str(file), "--set", "num.partitions=4", "--port", "7"])
    config = BrokerConfig.from_sources(flags.config, environment, properties(flags))
    assert config.integer("num.partitions") == 4
    assert config.integer("log.retention.ms") == 3
    assert config.integer("default.replication.factor") == 2
    assert str(config.listeners()[0]) == "PLAINTEXT://127.0.0.1:7"


def test_a_broker_in_a_thread() -> None:
    before = set(threading.enumerate())
    with test_broker(nodes=2, config={"num.partitions": 3}) as running:
        running.create_topic("words")
        assert len(running.bootstrap.split(",")) == 2
        for address in running.bootstrap.split(","):
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port))).close()
    # Trio keeps idle threads for a few seconds, for whatever needs one next.
    left = set(threading.enumerate()) - before
    assert [each for each in left if not each.name.startswith("Trio thread")] == []


def test_what_is_wrong_is_raised_where_it_was_asked_for(tmp_path: Path) -> None:
    from kafkalite.config import ConfigError
    from kafkalite.server.listener import StartError

    with pytest.raises(ConfigError, match="there is no config"), test_broker({"no.such": 1}):
        pass
    with (
        test_broker(data_dir=tmp_path),
        pytest.raises(StartError, match="in use"),
        test_broker(data_dir=tmp_path),
    ):
        pass


async def test_an_exception_inside_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with test_broker():
            raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="not running"):
        print(test_broker().bootstrap)


def test_the_fixtures_of_the_package(tmp_path: Path) -> None:
    """In a pytest of its own, as a user would run it: the entry point alone brings the plugin."""
    (tmp_path / "test_it.py").write_text(
        "import socket\n"
        "def test_one(kafkalite_broker, kafkalite_broker_session):\n"
        "    kafkalite_broker.create_topic('words')\n"
        "    assert kafkalite_broker.bootstrap != kafkalite_broker_session.bootstrap\n"
        "    host, _, port = kafkalite_broker_session.bootstrap.rpartition(':')\n"
        "    socket.create_connection((host, int(port))).close()\n"
        "def test_two(kafkalite_broker):\n"
        "    kafkalite_broker.create_topic('words')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [*command, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_importing_the_plugin_is_cheap() -> None:
    code = "import sys, kafkalite.pytest_plugin; print('trio' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "False"
