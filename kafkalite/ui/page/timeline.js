// The picture of a conversation: a lane for each connection, a bar for each request.

import { useEffect, useRef, useState } from "preact/hooks";
import { clock as shownTime, duration } from "./format.js";
import { html } from "./html.js";
import { useKeys } from "./keys.js";

const LANE_PX = 22;
const HEAD_PX = 34;
const LABEL_PX = 190;
const TICK_PX = 80;
const LEAST_SPAN_MS = 2;
const LEAST_BAR_PX = 2;

const GROUP = /Group|Heartbeat|Offset(Commit|Fetch|Delete)|FindCoordinator/;
const TRANSACTION = /Txn|InitProducerId/;

export function toneOf(entry) {
  if (entry.error) return "bad";
  if (entry.api === "Produce") return "accent";
  if (entry.api === "Fetch" || entry.api === "ShareFetch") return "ok";
  if (TRANSACTION.test(entry.api)) return "fault";
  return GROUP.test(entry.api) ? "warn" : "soft";
}

export const endOf = (entry) => entry.answered_ms ?? entry.received_ms;

/** The lanes, in the order in which their connections first spoke. */
export function lanesOf(entries) {
  const lanes = new Map();
  for (const entry of entries) {
    if (!lanes.has(entry.connection)) lanes.set(entry.connection, { connection: entry.connection, entries: [] });
    const lane = lanes.get(entry.connection);
    lane.client_id = entry.client_id || lane.client_id;
    lane.entries.push(entry);
  }
  return [...lanes.values()];
}

function colors() {
  const style = getComputedStyle(document.documentElement);
  const names = ["text", "soft", "line", "surface", "raised", "accent", "ok", "warn", "bad", "fault", "strong-line"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function hatching(context, color) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = color;
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

/** The first entry of a lane that ends at or after a time; entries come in order. */
function firstFrom(entries, at) {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endOf(entries[middle]) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function step(span, width) {
  const rough = span / Math.max(1, Math.min(7, Math.floor(width / TICK_PX)));
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
}

function drawAxis(pen, paint, view, width, height) {
  const { from, to } = view;
  const scale = (width - LABEL_PX) / (to - from);
  const by = step(to - from, width - LABEL_PX);
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "left";
  for (let at = Math.ceil(from / by) * by; at < to; at += by) {
    const x = Math.round(LABEL_PX + (at - from) * scale) + 0.5;
    pen.strokeStyle = paint.line;
    pen.beginPath();
    pen.moveTo(x, HEAD_PX - 8);
    pen.lineTo(x, height);
    pen.stroke();
    pen.fillStyle = paint.soft;
    const text = by >= 1000 ? shownTime(at).slice(0, 8) : shownTime(at);
    if (x + 4 + pen.measureText(text).width < width) pen.fillText(text, x + 4, 12);
  }
}

function drawMarks(pen, paint, view, marks, width, height) {
  const scale = (width - LABEL_PX) / (view.to - view.from);
  const xOf = (mark) => Math.round(LABEL_PX + (mark.at - view.from) * scale) + 0.5;
  const seen = marks.filter((mark) => mark.at >= view.from && mark.at <= view.to);
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "left";
  seen.forEach((mark, i) => {
    const x = xOf(mark);
    pen.strokeStyle = pen.fillStyle = paint[mark.tone];
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(x, HEAD_PX - 12);
    pen.lineTo(x, mark.isLine ? height : HEAD_PX - 8);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x - 4, HEAD_PX - 15);
    pen.lineTo(x + 4, HEAD_PX - 15);
    pen.lineTo(x, HEAD_PX - 9);
    pen.fill();
    // Words only where no other mark stands in them.
    const room = (i + 1 < seen.length ? xOf(seen[i + 1]) : width) - x;
    if (room > pen.measureText(mark.text).width + 14) pen.fillText(mark.text, x + 7, HEAD_PX - 9);
  });
}

function drawLane(pen, paint, hatches, view, lane, top, width, selected) {
  const scale = (width - LABEL_PX) / (view.to - view.from);
  const xOf = (at) => LABEL_PX + (at - view.from) * scale;
  const { entries } = lane;
  for (let i = firstFrom(entries, view.from); i < entries.length; i += 1) {
    const entry = entries[i];
    if (entry.received_ms > view.to) break;
    const left = Math.max(LABEL_PX, xOf(entry.received_ms));
    const right = Math.min(width, Math.max(xOf(endOf(entry)), left + LEAST_BAR_PX));
    const tone = toneOf(entry);
    const isWaiting = entry.outcome === "waiting";
    const parked = isWaiting ? width : Math.min(right, left + (entry.parked_ms || 0) * scale);
    if (parked > left + 1) {
      pen.fillStyle = paint.raised;
      pen.fillRect(left, top + 5, parked - left, LANE_PX - 10);
      pen.globalAlpha = 0.65;
      pen.fillStyle = hatches[tone];
      pen.fillRect(left, top + 5, parked - left, LANE_PX - 10);
      pen.globalAlpha = 1;
    }
    if (isWaiting) continue;
    const body = Math.min(parked > left + 1 ? parked : left, right - LEAST_BAR_PX);
    pen.fillStyle = paint[tone];
    pen.fillRect(body, top + 5, right - body, LANE_PX - 10);
    if (entry.fault) {
      pen.strokeStyle = paint.fault;
      pen.lineWidth = 1.5;
      pen.strokeRect(left - 1.5, top + 3.5, right - left + 3, LANE_PX - 7);
      pen.lineWidth = 1;
    }
    if (entry.seq === selected) {
      pen.strokeStyle = paint.text;
      pen.lineWidth = 2;
      pen.strokeRect(left - 2, top + 2, right - left + 4, LANE_PX - 4);
      pen.lineWidth = 1;
    }
  }
}

function draw(canvas, view, lanes, marks, selected) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  const paint = colors();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  drawAxis(pen, paint, view, width, height);
  const tones = ["accent", "ok", "warn", "bad", "fault", "soft"];
  const hatches = Object.fromEntries(tones.map((tone) => [tone, hatching(pen, paint[tone])]));
  lanes.forEach((lane, i) => {
    const top = HEAD_PX + i * LANE_PX;
    drawLane(pen, paint, hatches, view, lane, top, width, selected);
    pen.fillStyle = paint.surface;
    pen.fillRect(0, top, LABEL_PX - 6, LANE_PX);
    pen.fillStyle = paint.text;
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(lane.client_id || "no client.id", 10, top + 15, 96);
    pen.fillStyle = paint.soft;
    pen.font = "11px ui-monospace, monospace";
    pen.fillText(lane.connection.split(":").at(-1), 112, top + 15, LABEL_PX - 122);
  });
  drawMarks(pen, paint, view, marks, width, height);
}

/** The last `span` ms of all, and what is selected. */
function reach(entries, span, selected) {
  if (!entries.length) return { from: 0, to: 1000 };
  let from = Infinity;
  let to = -Infinity;
  let chosen = Infinity;
  for (const entry of entries) {
    from = Math.min(from, entry.received_ms);
    to = Math.max(to, endOf(entry));
    if (entry.seq === selected) chosen = entry.received_ms;
  }
  from = Math.min(chosen, Math.max(from, to - span));
  const room = Math.max((to - from) * 0.02, 5);
  return { from: from - room, to: to + room };
}

const ALL = "all";
const isSeen = (entry, view) => entry.received_ms <= view.to && (entry.outcome === "waiting" || endOf(entry) >= view.from);

/**
 * `zoom` null: the last `span` ms, going on with what comes; ALL: all there is. Zoomed by the wheel,
 * + and -; moved by dragging. Connections have a lane where they asked something in what is seen.
 */
export function Timeline({ entries, marks, selected, onSelect, span: most = Infinity }) {
  const canvas = useRef(null);
  const [zoom, setZoom] = useState(null);
  const [size, setSize] = useState(0);
  const drag = useRef(null);
  const view = zoom && zoom !== ALL ? zoom : reach(entries, zoom ? Infinity : most, selected);
  const lanes = lanesOf(entries.filter((entry) => isSeen(entry, view)));
  const now = useRef({});
  now.current = { view, lanes };

  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => setSize(entry.contentRect.width));
    seen.observe(canvas.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = () => setSize((old) => old + 0.001);
    dark.addEventListener("change", again);
    const wheel = (event) => {
      if (!event.ctrlKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      zoomBy(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
    };
    canvas.current.addEventListener("wheel", wheel, { passive: false });
    return () => {
      seen.disconnect();
      dark.removeEventListener("change", again);
    };
  }, []);
  useEffect(() => {
    const frame = requestAnimationFrame(() => canvas.current && draw(canvas.current, view, lanes, marks, selected));
    return () => cancelAnimationFrame(frame);
  }, [entries, marks, selected, view.from, view.to, size]);

  const zoomBy = (factor, x) => {
    const { from, to } = now.current.view;
    const width = canvas.current.clientWidth - LABEL_PX;
    const share = x === undefined ? 0.5 : Math.max(0, Math.min(1, (x - LABEL_PX) / width));
    const at = from + (to - from) * share;
    const span = Math.max(LEAST_SPAN_MS, (to - from) * factor);
    setZoom({ from: at - span * share, to: at + span * (1 - share) });
  };
  const moveBy = (part) => {
    const { from, to } = now.current.view;
    setZoom({ from: from + (to - from) * part, to: to + (to - from) * part });
  };
  useKeys({
    "+": () => zoomBy(0.6), "=": () => zoomBy(0.6), "-": () => zoomBy(1 / 0.6), 0: () => setZoom((old) => (old === null && most < Infinity ? ALL : null)),
    ArrowLeft: () => moveBy(-0.2), ArrowRight: () => moveBy(0.2), h: () => moveBy(-0.2), l: () => moveBy(0.2),
  });
  const scaleNow = () => (view.to - view.from) / (canvas.current.clientWidth - LABEL_PX);
  const pick = (event) => {
    const lane = lanes[Math.floor((event.offsetY - HEAD_PX) / LANE_PX)];
    if (!lane || event.offsetX < LABEL_PX) return;
    const scale = scaleNow();
    const at = view.from + (event.offsetX - LABEL_PX) * scale;
    let best = null;
    for (const entry of lane.entries) {
      const away = at < entry.received_ms ? entry.received_ms - at : Math.max(0, at - endOf(entry));
      if (away <= 6 * scale && (!best || away < best.away)) best = { entry, away };
    }
    if (best) onSelect(best.entry);
  };
  const down = (event) => {
    drag.current = { x: event.offsetX, view, moved: false };
    canvas.current.setPointerCapture(event.pointerId);
  };
  // Marks say what happened, and why, where the mouse rests.
  const tell = (x) => {
    const at = view.from + (x - LABEL_PX) * scaleNow();
    const near = marks.filter((mark) => Math.abs(mark.at - at) <= 5 * scaleNow());
    canvas.current.title = near.map((mark) => [mark.text, mark.why].filter(Boolean).join(": ")).join("\n");
  };
  const moved = (event) => {
    if (!drag.current) {
      tell(event.offsetX);
      return;
    }
    const { x, view: old } = drag.current;
    if (Math.abs(event.offsetX - x) < 4 && !drag.current.moved) return;
    drag.current.moved = true;
    const by = ((x - event.offsetX) * (old.to - old.from)) / (canvas.current.clientWidth - LABEL_PX);
    setZoom({ from: old.from + by, to: old.to + by });
  };
  const up = (event) => {
    if (drag.current && !drag.current.moved) pick(event);
    drag.current = null;
  };
  const span = duration(view.to - view.from);
  return html`<div class="timeline">
    <canvas ref=${canvas} role="img" style=${{ height: `${HEAD_PX + Math.max(1, lanes.length) * LANE_PX + 6}px` }}
      aria-label=${`Timeline of ${entries.length} requests on ${lanes.length} connections, ${span}. The table below has the same requests.`}
      onPointerDown=${down} onPointerMove=${moved} onPointerUp=${up}></canvas>
  </div>`;
}
