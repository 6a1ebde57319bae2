"""The year in one picture: each hour of each day, coloured by how late its flights left."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pandas
from matplotlib import dates
from matplotlib.figure import Figure

from examples.flights.data import AirportHour

AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
LATE_MINUTES = 90
"""The colour scale ends here: beyond it, late is late."""
NOTHING = "#b4c2c8"


def save(rows: list[AirportHour], path: Path) -> Path:
    """Draw `rows` to the PNG file `path`."""
    table = pandas.DataFrame(rows)
    local = pandas.to_datetime(table["hour"]).dt.tz_convert("America/New_York")
    table["day"], table["hour"] = local.dt.tz_localize(None).dt.normalize(), local.dt.hour
    days = pandas.date_range("2013-01-01", "2013-12-31")
    colours = mpl.colormaps["magma"].with_extremes(bad=NOTHING)

    figure = Figure(figsize=(13, 8.2), layout="constrained", facecolor="white")
    grid = figure.subplots(
        len(AIRPORTS), 2, sharex="col", sharey="row", width_ratios=[8, 1], squeeze=False
    )
    for (code, name), (calendar, profile) in zip(AIRPORTS.items(), grid, strict=True):
        airport = table[table["origin"] == code]
        delays = airport.pivot(index="hour", columns="day", values="mean_delay")
        delays = delays.reindex(index=range(24), columns=days)
        image = calendar.pcolormesh(
            days, delays.index, delays, cmap=colours, vmin=0, vmax=LATE_MINUTES, shading="nearest"
        )
        calendar.set_facecolor(NOTHING)
        departures = airport["departures"].sum()
        calendar.set_title(f"{name} ({code})", loc="left", fontweight="bold")
        calendar.set_title(f"{departures:,} departures", loc="right", color="#666666")
        calendar.set_ylim(23.5, 4.5)
        calendar.set_yticks([6, 12, 18], ["6 am", "noon", "6 pm"])

        weighted = airport.assign(late=airport["mean_delay"] * airport["departures"])
        by_hour = weighted.groupby("hour")[["late", "departures"]].sum()
        means = by_hour["late"] / by_hour["departures"]
        profile.barh(means.index, means, color="#b5367a")
        profile.spines[["top", "right"]].set_visible(False)
    grid[0, 1].set_title("mean by hour", loc="left", color="#666666", fontsize="medium")
    grid[-1, 1].set_xlabel("minutes")
    grid[-1, 0].xaxis.set_major_locator(dates.MonthLocator())
    grid[-1, 0].xaxis.set_major_formatter(dates.ConciseDateFormatter(dates.MonthLocator()))
    bar = figure.colorbar(image, ax=grid, extend="max", shrink=0.6, aspect=30, pad=0.01)
    bar.set_label("mean departure delay, minutes (grey: nothing left)")
    figure.suptitle(
        "When New York's flights left late, 2013: hour by hour, airport by airport",
        fontsize=15,
        fontweight="bold",
    )
    figure.savefig(path, dpi=130)
    return path
