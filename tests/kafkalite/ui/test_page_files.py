"""Files of the page: which are served, and what a browser is told about them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from http import HTTPStatus
from importlib.resources import files

import pytest

from kafkalite.server.http import HttpRequest, HttpResponse
from kafkalite.ui.page_files import PageFiles, content_security_policy

PAGE = files("kafkalite.ui") / "page"
VENDOR = PAGE / "vendor"


def test_nothing_of_it_is_imported_with_the_control_port() -> None:
    wanted = "kafkalite.control.process, kafkalite.control.http, kafkalite.control.verbs"
    never = "kafkalite.ui', 'kafkalite.schemas"
    code = f"import sys, {wanted}; print([n for n in sys.modules if n.startswith(('{never}'))])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


async def got(path: str, **headers: str) -> HttpResponse | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await PageFiles().answer(HttpRequest("GET", path, named), path)


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/views/topics.js", "text/javascript; charset=utf-8"),
        ("/vendor/preact.mjs", "text/javascript; charset=utf-8"),
        ("/base.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ],
)
async def test_a_file_is_served_as_what_it_is(path: str, content_type: str) -> None:
    response = await got(path)
    assert response is not None
    assert (response.status, response.content_type) == (HTTPStatus.OK, content_type)
    assert response.body == (PAGE / (path[1:] or "index.html")).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/nothing.js",
        "/vendor",
        "/vendor/",
        "/vendor/preact.LICENSE",
        "/../page_files.py",
        "/vendor/../../__init__.py",
        "/%2e%2e/page_files.py",
        "//app.js",
        "/etc/passwd",
    ],
)
async def test_nothing_else_is_served(path: str) -> None:
    assert await got(path) is None


async def test_a_browser_that_has_a_file_is_not_sent_it_again() -> None:
    page = PageFiles()
    first = await page.answer(HttpRequest("GET", "/app.js"), "/app.js")
    assert first is not None
    tag = first.headers["ETag"]
    again = await page.answer(HttpRequest("GET", "/app.js", {"if-none-match": tag}), "/app.js")
    assert again is not None
    assert (again.status, again.body) == (HTTPStatus.NOT_MODIFIED, b"")
    other = await page.answer(HttpRequest("GET", "/", {"if-none-match": tag}), "/")
    assert other is not None
    assert other.status is HTTPStatus.OK


async def test_the_policy_allows_the_pages_own_files_and_its_import_map() -> None:
    response = await got("/app.js")
    assert response is not None
    policy = dict(
        part.split(" ", 1) for part in response.headers["Content-Security-Policy"].split("; ")
    )
    (script,) = re.findall(
        rb'<script type="importmap">(.*?)</script>', (PAGE / "index.html").read_bytes(), re.DOTALL
    )
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert not any("unsafe" in part or "http" in part for part in policy.values())
    assert response.headers["Referrer-Policy"] == "no-referrer"


def test_a_script_that_is_no_import_map_is_not_allowed() -> None:
    policy = content_security_policy(b"<script>alert(1)</script>")
    assert "sha256" not in policy


def test_vendored_files_are_those_that_were_taken() -> None:
    listed = json.loads((VENDOR / "vendor.json").read_text())
    hashes = {
        name: file["sha256"]
        for package in listed.values()
        for name, file in package["files"].items()
    }
    there = {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in VENDOR.iterdir()
        if each.name != "vendor.json"
    }
    assert there == hashes
    assert {each["license"] for each in listed.values()} <= {"MIT", "Apache-2.0"}
    assert all(f"{name}.LICENSE" in hashes for name in listed)


def test_the_pages_own_modules_are_short_and_name_no_other_place() -> None:
    for path in [*PAGE.iterdir(), *(PAGE / "views").iterdir()]:
        if path.name.endswith((".js", ".css", ".html", ".svg")):
            text = path.read_text()
            assert len(text.splitlines()) <= 400, path.name
            urls = set(re.findall(r"https?://[^\s\"'`)]+", text))
            assert urls <= {"http://www.w3.org/2000/svg"}, path.name


def test_no_input_loses_what_is_being_typed() -> None:
    """`value` is set again whenever the view is drawn, unless each key changes it as well."""
    views = [*(PAGE / "views").iterdir(), *(each for each in PAGE.iterdir() if each.is_file())]
    written = "".join(each.read_text() for each in views if each.name.endswith(".js"))
    inputs: list[str] = re.findall(r"<input\b[^>]*(?:=>[^>]*)*>", written)
    assert len(inputs) > 10
    assert [each for each in inputs if " value=" in each and "onInput" not in each] == []
