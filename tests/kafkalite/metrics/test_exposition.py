"""Both text formats of Prometheus."""

from __future__ import annotations

import urllib.request
from http.client import HTTPConnection

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics

from kafkalite.testing import broker as test_broker
from tests.kafkalite.scraping import ON, SECONDS


def test_openmetrics_heads_and_what_is_not_there() -> None:
    with test_broker(ON) as b:
        assert b.metrics_url is not None
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        request = urllib.request.Request(b.metrics_url, headers=accept)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
            names = {family.name for family in openmetrics(answer.read().decode())}
        assert {"kafkalite_requests", "process_resident_memory_bytes"} <= names
        host, _, port = b.metrics_url.split("/")[2].rpartition(":")
        connection = HTTPConnection(host, int(port), timeout=SECONDS)
        for method, path, status in (
            ("HEAD", "/metrics", 200),
            ("GET", "/metrics?x=1", 200),
            ("POST", "/metrics", 405),
            ("GET", "/", 404),
        ):
            connection.request(method, path, body=b"abc" if method == "POST" else None)
            response = connection.getresponse()
            body = response.read()
            assert (response.status, bool(body)) == (status, method != "HEAD")
        connection.close()
