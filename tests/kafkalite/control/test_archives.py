"""Archives: packed and unpacked again, and what is none."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from kafkalite.control.archives import NoArchiveError, packed, unpack

MOST = 1 << 20
DATA = {"meta.properties": b"version=1", "__cluster_metadata-0/0.log": b"x", "t-0/0.log": b"abc"}


def tar(files: dict[str, bytes], *others: tarfile.TarInfo) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for member in others:
            archive.addfile(member)
    return target.getvalue()


def odd(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def files_in(directory: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(directory)): each.read_bytes()
        for each in directory.rglob("*")
        if each.is_file()
    }


def test_there_and_back(tmp_path: Path) -> None:
    for name, data in DATA.items():
        path = tmp_path / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "one" / "empty-0").mkdir()
    (tmp_path / "data.tar").write_bytes(packed(tmp_path / "one"))
    unpack(tmp_path / "data.tar", tmp_path / "two", MOST)
    assert files_in(tmp_path / "two") == DATA
    assert (tmp_path / "two" / "empty-0").is_dir()


def test_names_may_begin_with_a_dot(tmp_path: Path) -> None:
    """GNU tar writes them so: `tar -cf data.tar .`"""
    files = {f"./{name}": data for name, data in DATA.items()}
    (tmp_path / "data.tar").write_bytes(tar(files, odd(".", tarfile.DIRTYPE)))
    unpack(tmp_path / "data.tar", tmp_path / "two", MOST)
    assert files_in(tmp_path / "two") == DATA


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"no archive", "it is no tar file"),
        (b"", "it is no tar file"),
        (tar({}), "it has no meta.properties"),
        (tar({"meta.properties": b""}), "it has no __cluster_metadata-0"),
        (tar({"../evil": b"x"}), "is no name in a data directory"),
        (tar({"/etc/evil": b"x"}), "is no name in a data directory"),
        (tar({"a/b/c": b"x"}), "is no name in a data directory"),
        (tar({}, odd("link", tarfile.SYMTYPE, "/etc/passwd")), "neither a plain file nor a folder"),
        (tar({}, odd("link", tarfile.LNKTYPE, "/etc/passwd")), "neither a plain file nor a folder"),
        (tar({}, odd("pipe", tarfile.FIFOTYPE)), "neither a plain file nor a folder"),
        (tar({"large": bytes(MOST + 1)}), "more than 1 MiB"),
        (tar({"one": bytes(MOST), "two": b"x"}), "more than 1 MiB"),
    ],
)
def test_what_is_no_archive_of_a_data_directory(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "data.tar").write_bytes(data)
    with pytest.raises(NoArchiveError, match=told):
        unpack(tmp_path / "data.tar", tmp_path / "two", MOST)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data.tar", "two"]


@pytest.mark.parametrize("size", [1024, 3072, 3500, 4000, 8704])
def test_a_cut_archive_is_none(tmp_path: Path, size: int) -> None:
    data = tar({**DATA, "t-1/0.log": bytes(5000)})
    (tmp_path / "data.tar").write_bytes(data[:size])
    with pytest.raises(NoArchiveError):
        unpack(tmp_path / "data.tar", tmp_path / "two", MOST)
