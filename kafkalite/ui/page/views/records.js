// The records of a topic: from the newest, the oldest, an offset or a time; searched; followed.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { bytes, many, number, timeOf, when } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { useFilterKey, useKeys } from "../keys.js";
import { useRepeatedly } from "../poll.js";
import { setQuery } from "../router.js";
import { preview, Value } from "../value.js";
import { Badge, Button, Choice, Empty, Problem, Typed } from "../widgets.js";

const AT_ONCE = 200;
const FOLLOWED_AT_ONCE = 1000;
const FOLLOW_EVERY_MS = 500;
// More are not kept while following: the oldest are dropped from the page.
const MOST = 10_000;
const BEGINNINGS = [["newest", "Newest"], ["oldest", "Oldest"], ["offset", "Offset"], ["time", "Time"]];

const keyOf = (record) => `${record.partition}-${record.offset}`;

function question(query) {
  const asked = { count: AT_ONCE, preview: 400 };
  if (query.partition) asked.partition = Number(query.partition);
  if (query.q) asked.text = query.q;
  if (query.in) asked.within = [query.in];
  if (query.committed) asked.committed = true;
  if (query.from === "offset" && query.offset) asked.from = Number(query.offset);
  if (query.from === "time" && query.time) asked.since = timeOf(query.time) ?? query.time;
  if (!query.from || query.from === "newest") asked.newest = true;
  return asked;
}

const NOTHING = { records: [], next: {}, before: {}, searched: 0, exhausted: false, busy: true, error: null };

/** What was found so far, and ways to go on: older ones, newer ones, or no further. */
function useSearch(path, asked) {
  const [found, setFound] = useState(NOTHING);
  const stop = useRef(() => {});
  const told = JSON.stringify(asked);
  const search = (continued, isOlder) => {
    stop.current();
    const ending = new AbortController();
    stop.current = () => ending.abort();
    setFound(continued ? (old) => ({ ...old, busy: true, error: null }) : NOTHING);
    (async () => {
      let fields = { ...asked, ...continued };
      let count = 0;
      try {
        while (count < AT_ONCE) {
          const answer = await ask("POST", path, fields, ending.signal);
          if (ending.signal.aborted) return;
          count += answer.records.length;
          const isOver = answer.exhausted || count >= AT_ONCE;
          setFound((old) => ({
            records: asked.newest || isOlder ? [...answer.records, ...old.records] : [...old.records, ...answer.records],
            next: asked.newest && Object.keys(old.next).length ? old.next : answer.next,
            before: asked.newest || !Object.keys(old.before).length ? answer.before : old.before,
            searched: old.searched + answer.searched,
            exhausted: answer.exhausted,
            busy: !isOver,
            error: null,
          }));
          if (isOver) return;
          fields = asked.newest ? { ...asked, before: answer.before } : { ...asked, positions: answer.next };
        }
      } catch (error) {
        if (!ending.signal.aborted) setFound((old) => ({ ...old, busy: false, error }));
      }
    })();
  };
  useEffect(() => {
    search(null, false);
    return () => stop.current();
  }, [path, told]);
  const more = () => search(asked.newest ? { before: found.before } : { positions: found.next }, asked.newest);
  const halt = () => {
    stop.current();
    setFound((old) => ({ ...old, busy: false }));
  };
  return { found, setFound, more, halt };
}

function useFollowing(path, asked, found, setFound, isFollowing) {
  const next = useRef({});
  next.current = found.next;
  useRepeatedly(
    async (signal) => {
      if (!isFollowing || found.busy) return;
      const { newest, start, since, ...rest } = asked;
      const fields = { ...rest, count: FOLLOWED_AT_ONCE, positions: next.current };
      const answer = await ask("POST", path, fields, signal);
      if (signal.aborted) return;
      next.current = answer.next;
      setFound((old) => ({
        ...old,
        next: answer.next,
        searched: old.searched + answer.searched,
        records: answer.records.length ? [...old.records, ...answer.records].slice(-MOST) : old.records,
      }));
    },
    [path, JSON.stringify(asked), isFollowing, found.busy],
    FOLLOW_EVERY_MS,
  );
}

const COLUMNS = [
  { key: "partition", title: "Part.", width: "48px", align: "end", cell: (row) => row.partition },
  { key: "offset", title: "Offset", width: "70px", align: "end", cell: (row) => number(row.offset) },
  { key: "timestamp", title: "Time", width: "minmax(88px, 150px)", cell: (row) => html`<span class="mono soft">${when(row.timestamp)}</span>` },
  { key: "key", title: "Key", width: "minmax(70px, 1.6fr)", cell: (row) => preview(row.key, row.key_encoding) },
  { key: "value", title: "Value", width: "minmax(90px, 3.4fr)", cell: (row) => preview(row.value, row.value_encoding) },
  { key: "headers", title: "Headers", wide: true, width: "72px", align: "end", cell: (row) => row.all_headers.length || "" },
  { key: "size", title: "Size", wide: true, width: "72px", align: "end", cell: (row) => bytes(row.size_bytes) },
];

function Record({ cluster, topic, row, onClose }) {
  const [whole, setWhole] = useState(null);
  useEffect(() => {
    const leaving = new AbortController();
    setWhole(null);
    ask("GET", at(cluster, "topics", topic, "partitions", row.partition, "records", row.offset), {}, leaving.signal)
      .then(setWhole)
      .catch(() => {});
    return () => leaving.abort();
  }, [cluster, topic, keyOf(row)]);
  const record = whole || row;
  const headers = record.all_headers;
  return html`<aside class="panel scrolls" aria-label="The record">
    <header><h2 class="num">${topic}-${row.partition} @ ${number(row.offset)}</h2>
      <${Button} kind="quiet end" onClick=${onClose} title="Esc">Close<//></header>
    <dl class="pairs"><dt>Time</dt><dd class="mono">${when(row.timestamp, 0)} <span class="soft">${row.timestamp}</span></dd></dl>
    <${Value} label="Key" text=${record.key} encoding=${record.key_encoding} decoded=${record.key_decoded} />
    <${Value} label="Value" text=${record.value} encoding=${record.value_encoding} decoded=${record.value_decoded} />
    ${headers.length > 0 && html`<section class="value-box"><h3>Headers</h3>
      <dl class="pairs">${headers.map(({ name, value, value_encoding }) => html`<dt class="mono">${name}</dt><dd class="mono">${value ?? html`<span class="null">null</span>`}${value_encoding === "base64" && html` <span class="muted">base64</span>`}</dd>`)}</dl></section>`}
  </aside>`;
}

function Beginning({ query }) {
  const from = query.from || "newest";
  const submit = (name) => (event) => setQuery({ [name]: event.target.value });
  return html`<${Choice} label="From" options=${BEGINNINGS} value=${from} onChange=${(key) => setQuery({ from: key === "newest" ? "" : key, follow: "" })} />
    ${from === "offset" && html`<${Typed} class="short" type="number" min="0" aria-label="Offset" placeholder="Offset" text=${query.offset || ""} onChange=${submit("offset")} />`}
    ${from === "time" && html`<${Typed} aria-label="Time" text=${query.time || ""} onChange=${submit("time")}
      class=${query.time && timeOf(query.time) === undefined ? "grow invalid" : "grow"} placeholder="-5m, or 2026-01-31 14:00" />`}`;
}

export function Records({ cluster, topic, query }) {
  const search = useRef(null);
  const path = at(cluster, "topics", topic.name, "search");
  const told = [query.partition, query.q, query.in, query.committed, query.from, query.offset, query.time];
  const asked = useMemo(() => question(query), told);
  const { found, setFound, more, halt } = useSearch(path, asked);
  const isFollowing = query.follow === "1";
  useFollowing(path, asked, found, setFound, isFollowing);
  const fresh = topic.partitions.reduce((sum, each) => sum + Math.max(0, each.end_offset - (found.next[each.partition] ?? each.end_offset)), 0);
  const chosen = found.records.find((row) => keyOf(row) === query.at);
  const follow = () => setQuery({ follow: isFollowing ? "" : "1" });
  useFilterKey(search);
  useKeys({ f: follow, Escape: () => (query.at ? setQuery({ at: "" }) : false) });
  const typed = useRef(0);
  const type = (event) => {
    clearTimeout(typed.current);
    const text = event.target.value;
    typed.current = setTimeout(() => setQuery({ q: text, at: "" }), 250);
  };
  const status = found.busy
    ? html`Searched ${number(found.searched)} … <${Button} kind="quiet" onClick=${halt}>Stop<//>`
    : `${many(found.records.length, "record")}${query.q ? ` in ${number(found.searched)} searched` : ""}`;
  return html`
    <div class="bar">
      <${Beginning} query=${query} />
      <select aria-label="Partition" value=${query.partition || ""} onChange=${(event) => setQuery({ partition: event.target.value })}>
        <option value="">all partitions</option>${topic.partitions.map((each) => html`<option value=${each.partition}>partition ${each.partition}</option>`)}</select>
      <input class="grow" type="search" ref=${search} defaultValue=${query.q || ""} onInput=${type} aria-label="Search records" placeholder="Search key, value and headers  ( / )" spellcheck="false" />
      <select aria-label="Search in" value=${query.in || ""} onChange=${(event) => setQuery({ in: event.target.value })}>
        <option value="">anywhere</option><option value="key">in the key</option><option value="value">in the value</option><option value="headers">in the headers</option></select>
      <label class="check"><input type="checkbox" checked=${Boolean(query.committed)} onChange=${(event) => setQuery({ committed: event.target.checked ? "1" : "" })} />committed only</label>
      <${Button} kind=${isFollowing ? "on" : ""} onClick=${follow} title="f" aria-pressed=${isFollowing}>${isFollowing ? "Pause" : "Follow"}<//>
    </div>
    <div class="bar soft num" role="status"><span>${status}</span>
      ${!found.busy && !found.exhausted && !isFollowing && html`<${Button} kind="quiet" onClick=${more}>${asked.newest ? "Show older ones" : "Go on"}<//>`}
      ${isFollowing ? html`<${Badge} tone="ok">following<//>` : fresh > 0 && (asked.newest || found.exhausted) && html`<${Badge} tone="accent">${number(fresh)} new<//>`}
    </div>
    <${Problem} error=${found.error} />
    ${found.records.length || found.busy || topic.records
      ? html`<div class="split ${chosen ? "" : "closed"}">
          <${Grid} label="Records" fill narrow=${Boolean(chosen)} columns=${COLUMNS} rows=${found.records} keyOf=${keyOf} selected=${query.at} stick=${isFollowing || asked.newest}
            onSelect=${(row) => setQuery({ at: keyOf(row) })} />
          ${chosen && html`<${Record} cluster=${cluster} topic=${topic.name} row=${chosen} onClose=${() => setQuery({ at: "" })} />`}
        </div>`
      : html`<${Empty} title="No records">Produce some here, or let a client do it.<//>`}`;
}
