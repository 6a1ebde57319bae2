"""Paths as users name them."""

from pathlib import Path

import pytest

from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.local_path import local_path


@pytest.mark.parametrize("named", ["a/b", "/a b/é", "file", "c:", "a:b/c", Path("s3:/as/a/path")])
def test_a_path_is_as_it_was(named: str | Path) -> None:
    assert local_path(named) == Path(named)


@pytest.mark.parametrize("named", ["file:/a b/c", "file:///a%20b/c", "FILE://localhost/a%20b/c"])
def test_a_file_uri_is_its_path(named: str) -> None:
    assert local_path(named) == Path("/a b/c")


@pytest.mark.parametrize("named", ["s3://bucket/a", "hdfs://nn:8020/a", "dbfs:/a", "file://host/a"])
def test_a_place_elsewhere_is_refused(named: str) -> None:
    with pytest.raises(SparkSourceError, match=f"^{named} is no path on this machine: "):
        local_path(named)
