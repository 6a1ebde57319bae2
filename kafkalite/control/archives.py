"""Snapshots as tar files: packed for elsewhere, and unpacked after a look at every name.

An archive is somebody else's. It has plain files and folders, as a data directory has them: at most
one folder deep, none of them a link, and together no larger than allowed.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import Final

from kafkalite.config.growth import METADATA
from kafkalite.log.files import META_PROPERTIES

_MOST_FILES: Final = 200_000
_DEEPEST: Final = 2
_END: Final = bytes(tarfile.BLOCKSIZE)
_NEEDED: Final = (META_PROPERTIES, METADATA)


class NoArchiveError(Exception):
    """A file is no tar file of a data directory; says why."""


def packed(snapshot: Path) -> bytes:
    """A snapshot as a tar file, whose names begin below the data directory."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path in sorted(snapshot.iterdir()):
            archive.add(path, path.name)
            # It keeps what it knows of each file, which of thousands is more than their bytes.
            archive.getmembers().clear()
    return target.getvalue()


def unpack(file: Path, target: Path, most_bytes: int) -> None:
    """Write the files of an archive below `target`. Raises NoArchiveError and OSError."""
    target.mkdir(parents=True)
    size = 0
    try:
        with tarfile.open(file, "r:") as archive:
            for number, member in enumerate(archive):
                size += member.size
                if size > most_bytes or number > _MOST_FILES:
                    most = f"{most_bytes >> 20} MiB in {_MOST_FILES} files"
                    raise NoArchiveError(f"it has more than {most}")
                _write(archive, member, target)
            with file.open("rb") as whole:
                whole.seek(archive.offset)
                if whole.read(tarfile.BLOCKSIZE) != _END:  # cut off between two files
                    raise NoArchiveError("it is no tar file: its end is missing")
    except tarfile.TarError as error:
        raise NoArchiveError(f"it is no tar file: {error}") from None
    for name in _NEEDED:
        if not (target / name).exists():
            raise NoArchiveError(f"it has no {name}, as each data directory has")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or len(name.parts) > _DEEPEST:
        raise NoArchiveError(f"{member.name!r} is no name in a data directory")
    if member.isdir():
        (target / name).mkdir(exist_ok=True, parents=True)
        return
    source = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if source is None or not name.parts:
        raise NoArchiveError(f"{member.name!r} is neither a plain file nor a folder")
    (target / name).parent.mkdir(exist_ok=True)
    with source, (target / name).open("xb") as written:
        shutil.copyfileobj(source, written)
