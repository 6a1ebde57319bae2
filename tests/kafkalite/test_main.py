"""The command: what users mistype, and a run from start to signal."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from kafkalite import __version__
from kafkalite.__main__ import main
from kafkalite.broker import Broker
from kafkalite.config.ready_file import newest
from kafkalite.log import record_walk
from kafkalite.server.listener import StartError
from kafkalite.terminal.connection import Connection
from tests.kafkalite.processes import COMMAND, started


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


def test_the_version_says_which_build_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    build = "pure Python" if record_walk.__file__.endswith(".py") else "compiled"
    assert capsys.readouterr().out == f"kafkalite {__version__} ({build})\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--frobnicate"], "--frobnicate"),
        (["--vers"], "--vers"),  # no abbreviations: a later flag could make them mean another
        (["--port", "70000"], "70000"),
        (["--port", "-1"], "--port"),
        (["--nodes", "many"], "many"),
        (["--nodes", "3", "--port", "65534"], "65536"),
        (
            ["--nodes", "2", "--set", "advertised.listeners=PLAINTEXT://127.0.0.1:65535"],
            "advertised.listeners",
        ),
        (["--nodes", "0"], "kafkalite.nodes"),
        (["--set", "retention"], "retention"),
        (["--set", "log.retention.hour=1"], "log.retention.hours"),
        (["--set", "num.partitions=several"], "num.partitions"),
        (["--set", "listeners=nonsense"], "nonsense"),
        (["--config", "/nowhere/server.properties"], "/nowhere/server.properties"),
        (["--ready-file", "/nowhere/ready"], "/nowhere/ready"),
        (["--ready-file", ""], "--ready-file"),
        (["--data-dir", ""], "--data-dir"),
        (["--data-dir", "a,b"], "log.dirs"),
        (["--config", ""], "--config"),
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


@pytest.mark.parametrize("port", [[], ["--port", "0"]], ids=["", "port 0"])
@pytest.mark.parametrize("is_in_file", [False, True], ids=["flag", "file"])
def test_a_listener_that_cannot_be_served_is_refused_wherever_it_is_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, port: list[str], is_in_file: bool
) -> None:
    """It is never served as plaintext. GSSAPI is the default of sasl.enabled.mechanisms."""
    setting = "listeners=SASL_PLAINTEXT://127.0.0.1:0"
    file = tmp_path / "server.properties"
    file.write_text(setting)
    source = ["--config", str(file)] if is_in_file else ["--set", setting]
    assert "SASL_PLAINTEXT" in refused(capsys, "--temporary", *port, *source)


def test_a_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert f"127.0.0.1:{port}" in refused(capsys, "--temporary", "--port", port)


def test_a_broker_that_ends_by_itself_says_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(self: Broker, *, task_status: trio.TaskStatus[None]) -> None:
        self.failure = StartError("no data directory is left")
        self.stopped.set()
        task_status.started()

    monkeypatch.setattr(Broker, "serve", serve)
    assert main(["--temporary", "--port", "0"]) == 2
    assert "kafkalite: no data directory is left\n" in capsys.readouterr().err


@pytest.mark.slow
def test_a_data_directory_in_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with started("--data-dir", str(tmp_path)):
        line = refused(capsys, "--port", "0", "--data-dir", str(tmp_path))
        assert str(tmp_path) in line
        assert "in use" in line


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_from_start_to_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ready_file, data = tmp_path / "ready.json", tmp_path / "data"
    ready_file.write_text("left behind by a kill")
    with started("--ready-file", str(ready_file), "--data-dir", str(data)) as process:
        ready = json.loads(ready_file.read_text())
        assert ready["pid"] == process.pid
        among_the_users = newest(os.environ)
        assert among_the_users is not None
        assert json.loads(among_the_users.read_text()) == ready
        assert ready["data_dir"] == str(data)
        assert len(ready["cluster_id"]) == 22
        host, _, port = ready["bootstrap"].rpartition(":")
        with socket.create_connection((host, int(port))) as client:
            process.send_signal(number)
            assert client.recv(1) == b""
        output, errors = process.communicate(timeout=10)
        assert (process.returncode, output, errors) == (0, "", "")
    assert not ready_file.exists()
    assert not among_the_users.exists()
    assert (data / ".kafka_cleanshutdown").exists()


def opened_when_read(pipe: Path) -> int:
    """Open a named pipe for writing, once a process has opened it for reading."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def until_it_reads(pid: int) -> None:
    """Wait until a process sleeps in the read of a pipe. Python would not see a signal that comes
    just before, as the read waits for good.
    """
    deadline = time.monotonic() + 5
    while "pipe" not in Path(f"/proc/{pid}/wchan").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, None)]
)
def test_a_signal_in_the_start(tmp_path: Path, number: signal.Signals, status: int | None) -> None:
    """A named pipe that nobody writes to holds the start where it reads the config file."""
    held = tmp_path / "held"
    os.mkfifo(held)
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [*COMMAND, "--temporary", "--config", str(held)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        with open(opened_when_read(held), "w") as config:
            until_it_reads(process.pid)
            process.send_signal(number)
            if status is None:
                config.write("num.partitions=none")
                config.close()
                assert "num.partitions" in process.stderr.read()
                status = 2
            assert process.wait(10) == status
        assert process.stderr.read() == ""
    assert list(tmp_path.iterdir()) == [held]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGRTMIN + 1],
)
def test_any_signal_that_would_end_it_ends_it_in_order(tmp_path: Path, number: int) -> None:
    ready_file = tmp_path / "ready.json"
    with started("--ready-file", str(ready_file), "--temporary") as process:
        data = Path(json.loads(ready_file.read_text())["data_dir"])
        process.send_signal(number)
        output, errors = process.communicate(timeout=10)
        assert (process.returncode, output, errors) == (0, "", "")
    assert not ready_file.exists()
    assert not data.exists()


@pytest.mark.slow
def test_a_quit_tells_where_it_is_and_does_not_end_it(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    with started("--ready-file", str(ready_file), "--temporary") as process:
        process.send_signal(signal.SIGQUIT)
        assert process.stderr is not None
        assert any("in main" in line for line in process.stderr)
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert not ready_file.exists()


@pytest.mark.slow
def test_a_hang_up_of_the_terminal_does_not_end_it(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    arguments = ("--ready-file", str(ready_file), "--temporary", "--log-level", "debug")
    with started(*arguments) as process:
        assert process.stderr is not None
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            process.send_signal(number)
            assert any(f"{number.name} has no effect" in line for line in process.stderr)
        host, _, port = json.loads(ready_file.read_text())["bootstrap"].rpartition(":")
        Connection(host, int(port), {}).close()
        line = r"DEBUG ApiVersions v\d+ by kafkalite-terminal at 127\.0\.0\.1: ok, \d+\.\d ms$"
        assert any(re.search(line, each) for each in process.stderr)
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert not ready_file.exists()


@pytest.mark.slow
def test_the_line_at_the_start_tells_where_it_listens_and_what_clients_are_told() -> None:
    advertised = "--set=advertised.listeners=PLAINTEXT://broker.example:19092"
    command = [sys.executable, "-m", "kafkalite", "--temporary", "--port", "0", advertised]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    told = r"listens on 127\.0\.0\.1:\d+, clients connect to broker\.example:19092\n"
    assert re.search(told, line), line


@pytest.mark.slow
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


@pytest.mark.parametrize(("flags", "value"), [(["--durable"], "true"), ([], "false")])
def test_the_flag_for_durable_data(
    capsys: pytest.CaptureFixture[str], flags: list[str], value: str
) -> None:
    assert main([*flags, "--temporary", "--configs"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "kafkalite.durable" in each]
    assert line.split()[1] == value


def test_a_secured_listener_is_told_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file has another listener of that name, and where clients reach it."""
    file = tmp_path / "server.properties"
    old = "SASL_PLAINTEXT://elsewhere.example:9999"
    file.write_text(f"listeners={old}\nadvertised.listeners={old}\n")
    assert main(["--configs", "--config", str(file), "--sasl", "plain:alice:secret"]) == 0
    assert "elsewhere" not in capsys.readouterr().out


def test_a_temporary_directory_is_gone_at_exit(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    with started("--ready-file", str(ready_file), "--temporary") as process:
        data = Path(json.loads(ready_file.read_text())["data_dir"])
        assert data.is_dir()
        process.terminate()
        process.wait(10)
    assert not data.exists()


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("flags", [["--temporary"], ["--temporary", "--control-port", "0"]])
def test_it_may_end_with_its_input(tmp_path: Path, flags: list[str]) -> None:
    """The program at the other end may be killed, and then cannot say so."""
    ready_file = tmp_path / "ready.json"
    command = [*COMMAND, *flags, "--until-eof", "--ready-file", str(ready_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"kafkalite ")
        process.stdin.write(b"words without a meaning\n")
        process.stdin.flush()
        data = Path(json.loads(ready_file.read_text())["data_dir"])
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.stdin.close()
        assert process.wait(10) == 0
    assert not ready_file.exists()
    assert not data.exists()
