"""The libraries of the page are the files of npm's packages that vendor.json names, unchanged."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess

import pytest

from conformance.ui.vendor import LIST, TAKEN, packed

LISTED = json.loads(LIST.read_text())


@pytest.mark.long
@pytest.mark.parametrize("package", LISTED)
def test_files_are_npms_own(package: str) -> None:
    if shutil.which("npm") is None:
        pytest.skip("left out: no npm here")
    listed = LISTED[package]
    try:
        about, files = packed(f"{package}@{listed['version']}")
    except subprocess.CalledProcessError as error:
        told = error.stderr.decode()
        assert "E404" not in told, told
        pytest.skip(f"left out: npm has no registry: {told.splitlines()[:1]}")
    assert (about["version"], about["license"]) == (listed["version"], listed["license"])
    assert {each["from"]: name for name, each in listed["files"].items()} == TAKEN[package]
    for name, each in listed["files"].items():
        assert (LIST.parent / name).read_bytes() == files[each["from"]], name
        assert hashlib.sha256(files[each["from"]]).hexdigest() == each["sha256"]
