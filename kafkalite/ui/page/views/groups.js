// All groups: who is in them, and how far behind they are.

import { useMemo, useRef } from "preact/hooks";
import { at } from "../api.js";
import { number } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { useFilterKey } from "../keys.js";
import { usePoll } from "../poll.js";
import { go, href, setQuery } from "../router.js";
import { Badge, Empty, Head, Waiting } from "../widgets.js";

export function stateTone(state) {
  if (state === "Stable") return "ok";
  return state === "Empty" || state === "Dead" ? "" : "warn";
}

export const lagOf = (group) => group.offsets.reduce((sum, each) => sum + each.lag, 0);

const COLUMNS = (cluster) => [
  { key: "id", title: "Group", width: "minmax(110px, 2fr)", sort: (row) => row.id, cell: (row) => html`<a href=${href(cluster, "groups", row.id)}>${row.id}</a>` },
  { key: "state", title: "State", width: "minmax(80px, 170px)", sort: (row) => row.state, cell: (row) => html`<${Badge} tone=${stateTone(row.state)}>${row.state}<//>` },
  { key: "type", title: "Protocol", wide: true, width: "100px", sort: (row) => row.type, cell: (row) => html`<span class="soft">${row.type}</span>` },
  { key: "members", title: "Members", width: "78px", align: "end", sort: (row) => row.members.length, cell: (row) => number(row.members.length) },
  { key: "lag", title: "Lag", width: "minmax(60px, 110px)", align: "end", sort: lagOf, cell: (row) => (lagOf(row) ? html`<b>${number(lagOf(row))}</b>` : html`<span class="soft">0</span>`) },
  { key: "topics", title: "Topics", wide: true, width: "minmax(0, 2fr)", cell: (row) => [...new Set(row.offsets.map((each) => each.topic))].join(", ") },
];

export function Groups({ cluster, route }) {
  const filter = useRef(null);
  const { data, error } = usePoll(at(cluster, "groups"));
  const columns = useMemo(() => COLUMNS(cluster), [cluster]);
  useFilterKey(filter);
  if (!data) return html`<${Waiting} error=${error} />`;
  const wanted = (route.query.q || "").toLowerCase();
  const shown = wanted ? data.filter((row) => row.id.toLowerCase().includes(wanted)) : data;
  return html`
    <${Head} title="Groups" />
    <div class="bar">
      <input class="grow" type="search" ref=${filter} value=${route.query.q || ""} aria-label="Filter groups" placeholder="Filter by name  ( / )"
        onInput=${(event) => setQuery({ q: event.target.value })} />
      <span class="soft num">${wanted ? `${number(shown.length)} of ` : ""}${number(data.length)}</span>
    </div>
    ${data.length
      ? html`<${Grid} label="Groups" fill columns=${columns} rows=${shown} keyOf=${(row) => row.id} selected=${route.query.on}
          sorted=${{ key: "id" }} onSelect=${(row) => setQuery({ on: row.id })} onOpen=${(row) => go(href(cluster, "groups", row.id))} />`
      : html`<${Empty} title="No groups yet">A consumer with a group.id makes one.<//>`}`;
}
