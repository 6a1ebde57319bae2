"""`meta.properties`: Kafka's own are read, a directory of another owner is refused."""

from pathlib import Path

import pytest

from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import (
    MetaProperties,
    ensure_meta_properties,
    random_id,
    read_meta_properties,
    write_meta_properties,
)


def test_kafkas_own_meta_properties_are_read(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "#\n#Fri Nov 21 09:00:00 UTC 2026\n! by hand\ncluster.id = a\\=b\n"
        "directory.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id = 3\nversion=1\n\n"
    )
    properties = read_meta_properties(tmp_path, FILES)
    assert properties == ("a=b", 3, "MkU3OEVBNTcwNTJENDM2Qg")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version=7\n",
        "version=1\nnode.id=x\n",
        "version=1\nnode.id=1\ncluster.id=a\ndirectory.id=hello\n",
        "\xff",
    ],
)
def test_meta_properties_that_say_nothing_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text, encoding="latin-1")
    with pytest.raises(InconsistentDataDirectory):
        read_meta_properties(tmp_path, FILES)


def test_a_new_directory_gets_ids_and_keeps_them(tmp_path: Path) -> None:
    first = ensure_meta_properties(tmp_path, FILES, None, 7)
    assert (len(first.cluster_id), first.node_id, len(first.directory_id)) == (22, 7, 22)
    assert (tmp_path / "meta.properties").read_text() == (
        f"#\ncluster.id={first.cluster_id}\ndirectory.id={first.directory_id}\nnode.id=7\n"
        "version=1\n"
    )
    assert ensure_meta_properties(tmp_path, FILES, first.cluster_id, 7) == first


def test_a_directory_from_before_kafka_3_7_gets_an_id(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=2\n")
    found = read_meta_properties(tmp_path, FILES)
    assert found == ("abc", 2, "")
    ensured = ensure_meta_properties(tmp_path, FILES, "abc", 2)
    assert ensured[:2] == ("abc", 2)
    assert len(ensured.directory_id) == 22
    assert read_meta_properties(tmp_path, FILES) == ensured


@pytest.mark.parametrize(("cluster_id", "node_id"), [("other", 2), ("abc", 3), (None, 3)])
def test_another_owner_s_directory_is_refused_and_left_as_it_is(
    tmp_path: Path, cluster_id: str | None, node_id: int
) -> None:
    write_meta_properties(tmp_path, MetaProperties("abc", 2, random_id()), FILES)
    before = (tmp_path / "meta.properties").read_bytes()
    with pytest.raises(InconsistentDataDirectory, match="belongs to"):
        ensure_meta_properties(tmp_path, FILES, cluster_id, node_id)
    assert (tmp_path / "meta.properties").read_bytes() == before


def test_no_id_looks_like_a_flag() -> None:
    ids = {random_id() for _ in range(500)}
    assert len(ids) == 500
    assert not [each for each in ids if each.startswith("-") or len(each) != 22]


def test_a_directory_without_the_file_is_new(tmp_path: Path) -> None:
    assert read_meta_properties(tmp_path, FILES) is None
