"""A test run ends, however it ends, and with it all that it has started."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance.harness.java import find_java
from conformance.harness.kafkalite import ROOT
from conformance.harness.ports import free_ports
from conformance.harness.process import dying_with_parent, start_process

SECONDS = 60
CONFORMANCE = ROOT / "conformance"
# Nobody listens there: each of them asks again and again, and would so for ever.
STARTERS = {
    "a tool": """
from conformance.harness.tools import run_tool
run_tool(
    *("kafka-verifiable-share-consumer", "--bootstrap-server", NOBODY),
    *("--topic", "t", "--group-id", "g"),
)
""",
    "a process of tools": """
from conformance.harness.tool_process import ToolProcess
ToolProcess().run("kafka-console-consumer", "--bootstrap-server", NOBODY, "--topic", "t")
""",
    "a member": """
from conformance.scenarios.groups_of_clients import Member
Member("java-consumer", NOBODY, "t", "g")._process.wait()
""",
    "clients in one process": """
from conformance.kit.twice_clients import JavaClients
JavaClients().read(NOBODY, "t", 1)
""",
}


def children(pid: int) -> set[int]:
    """The processes that it has started and that have not ended."""
    told = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(each) for file in told for each in file.read_text().split()}


def is_java(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").resolve() == find_java().resolve()
    except OSError:
        return False


@pytest.mark.parametrize("starter", STARTERS)
def test_a_killed_run_leaves_nothing_behind(starter: str) -> None:
    program = f"NOBODY = '127.0.0.1:{free_ports(1)[0]}'\n{STARTERS[starter]}"
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    deadline = time.monotonic() + SECONDS
    while not (javas := {pid for pid in children(run.pid) if is_java(pid)}):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in javas):
        assert time.monotonic() < deadline, javas
        time.sleep(0.02)


def test_a_process_outlives_the_thread_that_asked_for_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        process = pool.submit(start_process, ["sleep", "60"]).result()
    time.sleep(0.1)
    assert process.poll() is None
    process.kill()
    process.wait()


def test_a_process_does_not_begin_without_its_parent() -> None:
    command = dying_with_parent(["true"])
    place = command.index(str(os.getpid()))
    assert subprocess.run(command, check=False).returncode == 0
    command[place] = str(os.getpid() + 1)  # as if that one had died
    assert subprocess.run(command, check=False).returncode != 0


def own_popens(file: Path) -> list[int]:
    """The lines on which a file starts a process by itself."""
    calls = [each for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.Call)]
    return [call.lineno for call in calls if ast.unparse(call.func) == "subprocess.Popen"]


# Benchmarks are no part of a test run. These start what others ask for, or kill it themselves.
OTHERWISE = {
    "conformance/harness/process.py",
    "conformance/harness/test_process.py",
    "conformance/pipelines/kills.py",
}


def test_everything_that_is_started_dies_with_its_parent() -> None:
    files = {file for file in CONFORMANCE.rglob("*.py") if "node_modules" not in file.parts}
    files -= set((CONFORMANCE / "benchmarks").rglob("*.py"))
    found = {os.fspath(file.relative_to(ROOT)): own_popens(file) for file in files}
    assert {file for file, lines in found.items() if lines} == OTHERWISE
