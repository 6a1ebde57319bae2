// All topics, with how much is in them and how fast it comes.

import { useMemo, useRef } from "preact/hooks";
import { ask, at } from "../api.js";
import { bytes, number, ranges, short } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { useFilterKey } from "../keys.js";
import { usePoll } from "../poll.js";
import { go, href, setQuery } from "../router.js";
import { Asking, attempt, Badge, Empty, Field, Head, Waiting } from "../widgets.js";

export function summary(topic) {
  let records = 0;
  let ends = 0;
  let size = 0;
  const leaderless = [];
  for (const each of topic.partitions) {
    records += each.end_offset - each.start_offset;
    ends += each.end_offset;
    size += each.size_bytes;
    if (each.leader < 0) leaderless.push(each.partition);
  }
  return { ...topic, records, ends, size, leaderless };
}

function useRows(topics) {
  const last = useRef({ at: 0, ends: new Map() });
  return useMemo(() => {
    const now = Date.now() / 1000;
    const before = last.current;
    const rows = (topics || []).map((topic) => {
      const row = summary(topic);
      const grown = row.ends - (before.ends.get(row.name) ?? row.ends);
      return { ...row, rate: Math.max(0, grown / (now - before.at)) };
    });
    last.current = { at: now, ends: new Map(rows.map((row) => [row.name, row.ends])) };
    return rows;
  }, [topics]);
}

function Create({ cluster, done }) {
  const create = async ({ topic, partitions, replication, configs }) => {
    const pairs = configs.split("\n").filter((line) => line.includes("="));
    const fields = {
      topic,
      configs: Object.fromEntries(pairs.map((line) => [line.slice(0, line.indexOf("=")).trim(), line.slice(line.indexOf("=") + 1).trim()])),
    };
    if (partitions) fields.partitions = Number(partitions);
    if (replication) fields.replication_factor = Number(replication);
    const made = await attempt(() => ask("POST", at(cluster, "topics"), fields), `Topic ${topic} is there`);
    done();
    return made !== undefined;
  };
  return html`<${Asking} label="Create topic" title="Create a topic" submit="Create" danger=${false} onSubmit=${create}>
    <div class="form">
      <${Field} label="Name" wide><input name="topic" required autocomplete="off" spellcheck="false" autofocus /><//>
      <${Field} label="Partitions"><input name="partitions" type="number" min="1" placeholder="the broker's default" /><//>
      <${Field} label="Replication factor"><input name="replication" type="number" min="1" placeholder="the broker's default" /><//>
      <${Field} label="Configs, a line each" wide><textarea name="configs" rows="3" placeholder="cleanup.policy=compact"></textarea><//>
    </div><//>`;
}

const COLUMNS = (cluster) => [
  { key: "name", title: "Topic", width: "minmax(130px, 2fr)", sort: (row) => row.name, cell: (row) => html`<a href=${href(cluster, "topics", row.name)}>${row.name}</a>` },
  { key: "partitions", title: "Partitions", width: "88px", align: "end", sort: (row) => row.partitions.length, cell: (row) => number(row.partitions.length) },
  { key: "records", title: "Records", width: "96px", align: "end", sort: (row) => row.records, cell: (row) => number(row.records) },
  { key: "rate", title: "A second", wide: true, width: "92px", align: "end", sort: (row) => row.rate, cell: (row) => (row.rate ? short(row.rate) : html`<span class="soft">–</span>`) },
  { key: "size", title: "Size", wide: true, width: "92px", align: "end", sort: (row) => row.size, cell: (row) => bytes(row.size) },
  {
    key: "notes", title: "Configs", wide: true, width: "minmax(0, 2fr)",
    cell: (row) => html`${row.leaderless.length > 0 && html`<${Badge} tone="bad">no leader: ${ranges(row.leaderless)}<//> `}
      <span class="mono soft">${Object.entries(row.configs).map(([name, value]) => `${name}=${value}`).join("  ")}</span>`,
  },
];

export function Topics({ cluster, route }) {
  const filter = useRef(null);
  const { data, error, again } = usePoll(at(cluster, "topics"));
  const rows = useRows(data);
  const columns = useMemo(() => COLUMNS(cluster), [cluster]);
  useFilterKey(filter);
  if (!data) return html`<${Waiting} error=${error} />`;
  const wanted = (route.query.q || "").toLowerCase();
  const shown = wanted ? rows.filter((row) => row.name.toLowerCase().includes(wanted)) : rows;
  return html`
    <${Head} title="Topics"><${Create} cluster=${cluster} done=${again} /><//>
    <div class="bar">
      <input class="grow" type="search" ref=${filter} value=${route.query.q || ""} aria-label="Filter topics" placeholder="Filter by name  ( / )"
        onInput=${(event) => setQuery({ q: event.target.value })} />
      <span class="soft num">${wanted ? `${number(shown.length)} of ` : ""}${number(rows.length)}</span>
    </div>
    ${rows.length
      ? html`<${Grid} label="Topics" fill columns=${columns} rows=${shown} keyOf=${(row) => row.name} selected=${route.query.on}
          sorted=${{ key: "name" }} onSelect=${(row) => setQuery({ on: row.name })} onOpen=${(row) => go(href(cluster, "topics", row.name))} />`
      : html`<${Empty} title="No topics yet">Create one here, or let a client produce to it.<//>`}`;
}
