"""A newcomer who does what README says sees a record of their own on the page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance.harness.process import killed_in_the_end, start_process
from conformance.ui.test_views import rows

ROOT = Path(__file__).parent.parent.parent
RUN = "make run RUN=--ui"
PRODUCE = ".venv/bin/kafkalite produce orders"


def test_from_the_command_to_ones_own_record(chromium: Any, tmp_path: Path) -> None:
    """The commands are README's; data directory and port are the test's own."""
    readme = (ROOT / "README.md").read_text()
    assert RUN in readme
    assert f"echo hello | {PRODUCE}" in readme
    says = ["make", "--dry-run", "--old-file=.venv/.installed", *shlex.split(RUN)[1:]]
    done = subprocess.run(says, cwd=ROOT, check=True, capture_output=True, text=True)
    [command] = [line for line in done.stdout.splitlines() if line.startswith("exec ")]
    assert shlex.split(command)[2:] == ["--data-dir", "./kafkalite-data", "--ui"]
    own = [sys.executable, "-m", "kafkalite"]
    flags = ["--data-dir", str(tmp_path / "data"), "--ui", "--port", "0"]
    pipe = subprocess.PIPE
    started = start_process([*own, *flags], stdout=pipe, text=True)
    with killed_in_the_end(started) as broker:
        assert broker.stdout is not None
        [listens, see_it] = broker.stdout.readline(), broker.stdout.readline()
        [bootstrap] = re.findall(r"listens on (\S+)", listens)
        [address] = re.findall(r"see it at (\S+)", see_it)
        words = [*own, *shlex.split(PRODUCE)[1:], "-b", bootstrap]
        subprocess.run(words, input="hello\n", text=True, check=True, capture_output=True)
        page = chromium.new_page()
        page.set_default_timeout(60_000)
        page.goto(address)
        page.get_by_role("link", name="Topics").first.click()
        rows(page, "Topics").get_by_role("link", name="orders").click()
        rows(page, "Records").get_by_text("hello").wait_for()
        page.close()
        broker.terminate()
        assert broker.wait(30) == 0
