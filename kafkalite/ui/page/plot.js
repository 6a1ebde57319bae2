// A line over time: uPlot in the page's colours, with the last value said in words.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { html } from "./html.js";

const HEIGHT_PX = 132;
const SPAN_SECONDS = 60;
// Ticks are whole numbers, as what is counted.
const LEAST_HIGH = 4;

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function useTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const [isDark, setDark] = useState(dark.matches);
  useEffect(() => {
    const changed = () => setDark(dark.matches);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  return isDark;
}

function reach(times) {
  const end = times.at(-1) ?? Date.now() / 1000;
  return [Math.min(times[0] ?? end, end - SPAN_SECONDS), end];
}

function options(width, series, format) {
  const axis = {
    stroke: color("soft"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: color("line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT_PX,
    padding: [8, 26, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    scales: {
      // At least a minute, so that the first points do not fill the width.
      x: { range: (plot) => reach(plot.data[0]) },
      y: { range: (_, low, high) => [0, Math.max(LEAST_HIGH, high * 1.15)] },
    },
    axes: [
      { ...axis, space: 80, size: 26, values: [[1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] },
      { ...axis, space: 32, size: 54, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...series.map(({ tone, dash }) => ({
        stroke: color(tone),
        width: 1.5,
        dash,
        fill: series.length === 1 ? `color-mix(in srgb, ${color(tone)} 12%, transparent)` : undefined,
        points: { show: false },
      })),
    ],
  };
}

/** `series`: [{ name, tone, values }], all as long as `times` (in seconds). */
export function Plot({ title, times, series, format }) {
  const box = useRef(null);
  const plot = useRef(null);
  const isDark = useTheme();
  const shape = series.map(({ name, tone }) => `${name}:${tone}`).join();
  useEffect(() => {
    if (!box.current) return undefined; // gone meanwhile
    const made = new uPlot(options(box.current.clientWidth, series, format), [times, ...series.map((each) => each.values)], box.current);
    plot.current = made;
    const seen = new ResizeObserver(([entry]) => made.setSize({ width: entry.contentRect.width, height: HEIGHT_PX }));
    seen.observe(box.current);
    return () => {
      seen.disconnect();
      made.destroy();
    };
  }, [isDark, shape]);
  useEffect(() => {
    plot.current?.setData([times, ...series.map((each) => each.values)]);
  }, [times, shape]);
  const last = (values) => (values.length ? format(values.at(-1) ?? 0) : "–");
  const said = series.map(({ name, values }) => `${name}: ${last(values)}`).join(", ");
  return html`<figure class="plot">
    <figcaption><span>${title}</span>${series.map(({ name, tone, values }) => html`<span class="key ${tone}"><i></i>${series.length > 1 && name} <b>${last(values)}</b></span>`)}</figcaption>
    <div ref=${box} role="img" aria-label=${`${title} over time. Now ${said}`}></div>
  </figure>`;
}

/** Values over time for as long as the page is open: history.add(name, seconds, values). */
export class History {
  constructor(most = 600) {
    this.most = most;
    this.times = [];
    this.values = new Map();
  }

  add(seconds, values) {
    if (seconds <= this.times.at(-1)) return;
    for (const name of Object.keys(values)) {
      if (!this.values.has(name)) this.values.set(name, this.times.map(() => null));
    }
    this.times = [...this.times, seconds].slice(-this.most);
    for (const [name, past] of this.values) {
      this.values.set(name, [...past, values[name] ?? null].slice(-this.most));
    }
  }

  /** The same with these values, as a history of its own: a state that has changed. */
  with(seconds, values) {
    const next = new History(this.most);
    [next.times, next.values] = [this.times, new Map(this.values)];
    next.add(seconds, values);
    return next;
  }

  of(name) {
    return this.values.get(name) || this.times.map(() => null);
  }
}
