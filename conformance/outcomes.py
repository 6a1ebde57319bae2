"""The outcome of every test of a run, as JSON, for the report card (`--outcomes FILE`)."""

import importlib.metadata
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = ("aiokafka", "confluent-kafka", "kafka-python", "pyspark")


def first_line(path: Path) -> str:
    """The title of a file of tests: its docstring's first line."""
    return path.read_text().lstrip('"').split("\n", 1)[0].rstrip('."')


class Outcomes:
    """A pytest plugin: collects, and writes at the end."""

    def __init__(self, config: pytest.Config, file: Path) -> None:
        self.config = config
        self.file = file
        self.began = time.monotonic()
        self.tests: dict[str, dict[str, str]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path, _, name = report.nodeid.partition("::")
        if report.failed:
            self.tests[path][name] = "failed"
        elif report.skipped:
            self.tests[path].setdefault(name, "left out")
        elif report.when == "call":
            self.tests[path].setdefault(name, "passed")

    def pytest_sessionfinish(self) -> None:
        root = self.config.rootpath
        files: dict[str, Any] = {}
        for path, tests in sorted(self.tests.items()):
            names = {
                outcome: sorted(name for name in tests if tests[name] == outcome)
                for outcome in ("passed", "failed", "left out")
            }
            files[path] = {"title": first_line(root / path), **names}
        self.file.write_text(
            json.dumps(
                {
                    "broker": self.config.getoption("--broker"),
                    "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
                    "seconds": round(time.monotonic() - self.began),
                    "files": files,
                },
                indent=1,
            )
        )
