"""The page: what was found, in words and plots, in one HTML file that needs nothing else."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING, Any, Final

from kafkalite.spark.audit.findings import KINDS, Severity
from kafkalite.wire.compression import Compression

if TYPE_CHECKING:
    from kafkalite.spark.audit.auditing import Audit
    from kafkalite.spark.audit.findings import Finding
    from kafkalite.spark.audit.partitions import PartitionAudit

_STYLE: Final = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2430; background: #fff;
       max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.verdict { display: inline-block; padding: .2rem .8rem; border-radius: .3rem; font-weight: 600; }
.sound { background: #e2f2e6; color: #1d5b2e; } .damaged { background: #fbe3e0; color: #8c1d12; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #e3e6ec;
         vertical-align: top; }
th { color: #5a6270; font-weight: 600; } td.n, th.n { text-align: right;
     font-variant-numeric: tabular-nums; }
tr.damage td:first-child { color: #8c1d12; font-weight: 600; }
tr.note td:first-child { color: #5a6270; }
code { font-size: .85rem; } svg { max-width: 100%; height: auto; } .facts { color: #5a6270; }
"""
# So many partitions are drawn: the largest, for a plot of thousands shows nothing.
_MOST_DRAWN: Final = 20
_INK: Final = "#3b6ea5"
_BAD: Final = "#c0392b"


def page(audit: Audit) -> str:
    """The whole page."""
    kinds = sorted(audit.counts.items(), key=lambda item: (KINDS[item[0]][0], -item[1]))
    records = sum(each.records for each in audit.partitions)
    size = sum(each.size for each in audit.partitions)
    verdict = "sound" if audit.is_sound else "damaged"
    where = ", ".join(str(each.path) for each in audit.directories)
    parts = [
        (
            f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Audit of "
            f"{escape(where)}</title><style>{_STYLE}</style></head><body>"
        ),
        f"<h1>Audit of <code>{escape(where)}</code></h1>",
        f"<p><span class='verdict {verdict}'>{verdict}</span></p>",
        (
            f"<p class='facts'>{audit.extent}, {records:,} records, "
            f"{size:,} bytes; {_state(audit)}; {audit.seconds:.1f} s.</p>"
        ),
    ]
    if kinds:
        parts.append("<h2>What was found</h2>")
        parts.append(
            _table(
                ("", "kind", "how often", "what it means"),
                (2,),
                [(KINDS[kind][0], kind, f"{count:,}", KINDS[kind][1]) for kind, count in kinds],
            )
        )
        parts.append("<h2>Where</h2>")
        parts.append(
            _table(
                ("", "kind", "partition", "file", "position", "offset", ""),
                (4, 5),
                [
                    (
                        each.severity,
                        each.kind,
                        _name(each),
                        each.file,
                        "" if each.position < 0 else f"{each.position:,}",
                        "" if each.offset < 0 else f"{each.offset:,}",
                        each.message,
                    )
                    for each in audit.findings
                ],
            )
        )
    parts += _plots(audit)
    parts.append("<h2>Partitions</h2>")
    parts.append(
        _table(
            (
                "partition",
                "offsets",
                "records",
                "bytes",
                "segments",
                "codecs",
                "producers",
                "committed",
                "aborted",
                "open",
            ),
            (2, 3, 4, 6, 7, 8, 9),
            [_row(each) for each in audit.partitions],
        )
    )
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _state(audit: Audit) -> str:
    running = sum(each.is_held for each in audit.directories)
    if len(audit.directories) == 1:
        return "the broker was running" if running else "the broker was not running"
    return f"brokers were running on {running} of {len(audit.directories)} directories"


def _name(each: PartitionAudit | Finding) -> str:
    """The log, with its directory where there are several."""
    log = f"{each.topic}-{each.partition}" if each.topic else ""
    return "/".join(part for part in (each.data_dir, log) if part)


def _row(each: PartitionAudit) -> tuple[str, ...]:
    codecs = sorted({codec for segment in each.segments for codec in segment.codecs})
    names = [Compression(codec).name.lower() if codec <= 4 else str(codec) for codec in codecs]
    return (
        _name(each),
        f"[{each.start_offset:,}, {each.end_offset:,})",
        f"{each.records:,}",
        f"{each.size:,}",
        f"{len(each.segments):,}",
        ", ".join(names),
        f"{each.producers:,}",
        f"{each.committed:,}",
        f"{each.aborted:,}",
        f"{each.open_transactions:,}",
    )


def _table(heads: tuple[str, ...], numbers: tuple[int, ...], rows: list[tuple[str, ...]]) -> str:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{' class=n' if i in numbers else ''}>{escape(str(cell))}</{tag}>"
            for i, cell in enumerate(row)
        )

    body = "".join(
        f"<tr class='{row[0] if row[0] in tuple(Severity) else ''}'>{cells('td', row)}</tr>"
        for row in rows
    )
    return f"<table><tr>{cells('th', heads)}</tr>{body}</table>"


def _plots(audit: Audit) -> list[str]:
    """Sizes, the growth of the largest partitions over time, and findings by kind."""
    largest = sorted(audit.partitions, key=lambda each: -each.size)[:_MOST_DRAWN]
    largest = [each for each in largest if each.size]
    if not largest:
        return []
    drawn = ["<h2>Sizes</h2>", _bars(largest)]
    if any(len(each.segments) > 1 for each in largest):
        drawn += ["<h2>Segments: offsets over time</h2>", _growth(largest)]
    return drawn


def _figure(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)
    return figure, axes


def _svg(figure: Any) -> str:
    import matplotlib as mpl

    output = io.StringIO()
    # The same audit makes the same page.
    with mpl.rc_context({"svg.hashsalt": "kafkalite", "svg.fonttype": "none"}):
        figure.savefig(output, format="svg", metadata={"Date": None})
    text = output.getvalue()
    return text[text.index("<svg") :]


def _bars(partitions: list[PartitionAudit]) -> str:
    """Megabytes of each partition; damaged ones in red."""
    figure, axes = _figure(0.6 + 0.28 * len(partitions))
    names = [_name(each) for each in partitions]
    damaged = [
        any(finding.severity is Severity.DAMAGE for finding in each.findings) for each in partitions
    ]
    bars = axes.barh(
        names,
        [each.size / 1e6 for each in partitions],
        color=[_BAD if bad else _INK for bad in damaged],
        height=0.65,
    )
    axes.bar_label(
        bars, [f"{each.records:,} records" for each in partitions], padding=4, fontsize=8
    )
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set_xlabel("MB (red: damaged)")
    return _svg(figure)


def _growth(partitions: list[PartitionAudit]) -> str:
    """Each segment as a line from its first timestamp and offset to its last."""
    from datetime import UTC, datetime

    figure, axes = _figure(3.6)
    for each in partitions[:8]:
        segments = [segment for segment in each.segments if segment.first_timestamp > 0]
        if not segments:
            continue
        times: list[datetime] = []
        offsets: list[int] = []
        for segment in segments:
            for time_ms, offset in (
                (segment.first_timestamp, segment.base_offset),
                (segment.largest_timestamp, segment.end_offset),
            ):
                times.append(datetime.fromtimestamp(time_ms / 1000, UTC))
                offsets.append(offset)
        axes.plot(
            times,
            offsets,
            marker="o",
            markersize=2.5,
            linewidth=1.2,
            label=_name(each),
        )
    axes.set_ylabel("offset")
    axes.legend(fontsize=8, frameon=False)
    figure.autofmt_xdate()
    return _svg(figure)
