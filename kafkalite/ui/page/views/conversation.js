// Requests as a picture and as a list, with a filter: of a running broker, or of a trace.

import { useMemo, useRef } from "preact/hooks";
import { bytes, clock as shownTime, duration, number } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { useFilterKey, useKeys } from "../keys.js";
import { setQuery } from "../router.js";
import { endOf, Timeline, toneOf } from "../timeline.js";
import { Badge, Button, Choice } from "../widgets.js";
import { Exchange } from "./exchange.js";

const SHOW = [["", "All"], ["errors", "Errors"], ["faults", "Faults"]];

function matches(entry, words, show) {
  if (show === "errors" && !entry.error && entry.outcome === "answered") return false;
  if (show === "faults" && !entry.fault) return false;
  const text = words.length ? [entry.api, entry.client_id, entry.connection, entry.error, entry.outcome, ...(entry.topics || [])].join(" ").toLowerCase() : "";
  return words.every((word) => text.includes(word));
}

export function useFiltered(entries, query) {
  return useMemo(() => {
    const words = (query.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const kept = query.api ? entries.filter((entry) => entry.api === query.api) : entries;
    return words.length || query.show ? kept.filter((entry) => matches(entry, words, query.show)) : kept;
  }, [entries, query.q, query.api, query.show]);
}

const COLUMNS = [
  { key: "received", title: "Time", width: "108px", cell: (row) => html`<span class="mono soft">${shownTime(row.received_ms)}</span>` },
  { key: "client", title: "Client", width: "minmax(76px, 1.2fr)", cell: (row) => html`${row.client_id || html`<span class="null">none</span>`} <span class="mono soft">${row.connection.split(":").at(-1)}</span>` },
  { key: "api", title: "Request", width: "minmax(104px, 1.6fr)", cell: (row) => html`<i class="dot ${toneOf(row)}"></i>${row.api} <span class="soft">v${row.version}</span>` },
  { key: "topics", title: "Topics", wide: true, width: "minmax(60px, 1.2fr)", cell: (row) => (row.topics || []).join(", ") },
  {
    key: "error", title: "Outcome", width: "minmax(84px, 1.3fr)",
    cell: (row) => html`${row.error ? html`<${Badge} tone="bad">${row.error}<//>` : row.outcome === "answered" ? html`<span class="soft">answered</span>` : html`<${Badge} tone="warn">${row.outcome}<//>`}
      ${row.fault && html` <${Badge} tone="fault">${row.fault}<//>`}`,
  },
  { key: "took", title: "Took", width: "72px", align: "end", sort: (row) => endOf(row) - row.received_ms, cell: (row) => (row.answered_ms == null ? "–" : duration(row.answered_ms - row.received_ms)) },
  { key: "parked", title: "Parked", wide: true, width: "86px", align: "end", sort: (row) => row.parked_ms || 0, cell: (row) => (row.parked_ms ? html`<span class="soft">${duration(row.parked_ms)}</span>` : "") },
  { key: "size", title: "Bytes", wide: true, width: "112px", align: "end", sort: (row) => row.request_bytes, cell: (row) => html`<span class="soft">${bytes(row.request_bytes)}${row.answered_ms == null ? "" : ` → ${bytes(row.answer_bytes || 0)}`}</span>` },
];

const keyOf = (row) => row.seq;

/** `decoded(entry)` gives what the panel shows, { decoded, error }; it is a hook. */
export function Conversation({ entries, marks, query, useDecoded, onFault, isLive = false, span, children }) {
  const filter = useRef(null);
  const shown = useFiltered(entries, query);
  const apis = useMemo(() => [...new Set(entries.map((entry) => entry.api))].sort(), [entries]);
  const selected = query.on === undefined ? undefined : Number(query.on);
  const chosen = entries.find((entry) => entry.seq === selected);
  const { decoded, error } = useDecoded(chosen);
  const select = (entry) => setQuery({ on: entry.seq });
  useFilterKey(filter);
  useKeys({ Escape: () => (chosen ? setQuery({ on: "" }) : false) });
  const save = () => {
    const text = shown.map((entry) => JSON.stringify(entry)).join("\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    link.download = "requests.jsonl";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return html`
    <div class="bar">
      <select aria-label="Request" value=${query.api || ""} onChange=${(event) => setQuery({ api: event.target.value })}>
        <option value="">all requests</option>${apis.map((api) => html`<option>${api}</option>`)}</select>
      <input class="grow" type="search" ref=${filter} value=${query.q || ""} aria-label="Filter requests" placeholder="Filter by client, topic, error, connection  ( / )" spellcheck="false"
        onInput=${(event) => setQuery({ q: event.target.value })} />
      <${Choice} label="Show" options=${SHOW} value=${query.show || ""} onChange=${(key) => setQuery({ show: key })} />
      <span class="soft num" role="status">${shown.length < entries.length ? `${number(shown.length)} of ` : ""}${number(entries.length)}</span>
      ${children}
      <${Button} onClick=${save} disabled=${!shown.length} title="What is shown, a JSON value a line">Save list<//>
    </div>
    <div class="lanes" role="group" aria-label="Lanes of the connections" tabindex="0"><${Timeline} entries=${shown} marks=${marks} selected=${selected} onSelect=${select} span=${span} /></div>
    <div class="split wide ${chosen ? "" : "closed"}">
      <${Grid} label="Requests" fill narrow=${Boolean(chosen)} columns=${COLUMNS} rows=${shown} keyOf=${keyOf} selected=${selected} onSelect=${select} stick=${isLive && !chosen}
        tone=${(row) => (row.error ? "marked" : "")} />
      ${chosen && html`<${Exchange} entry=${chosen} decoded=${decoded} error=${error} onFault=${onFault} onClose=${() => setQuery({ on: "" })} />`}
    </div>`;
}
