// Transactional ids, their last transactions, and what an open one holds back.

import { useMemo, useRef } from "preact/hooks";
import { ask, at } from "../api.js";
import { duration, number, when } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { useFilterKey, useKeys } from "../keys.js";
import { usePoll } from "../poll.js";
import { href, setQuery } from "../router.js";
import { Asking, attempt, Badge, Button, Empty, Head, Waiting } from "../widgets.js";

function tone(state) {
  if (state === "Ongoing") return "accent";
  if (state.startsWith("Prepare")) return "warn";
  return state === "CompleteAbort" ? "bad" : state === "CompleteCommit" ? "ok" : "";
}

const COLUMNS = (now) => [
  { key: "id", title: "Transactional id", width: "minmax(110px, 2fr)", sort: (row) => row.id, cell: (row) => html`<span class="mono">${row.id}</span>` },
  { key: "state", title: "State", width: "130px", sort: (row) => row.state, cell: (row) => html`<${Badge} tone=${tone(row.state)}>${row.state}<//>` },
  { key: "producer", title: "Producer id", wide: true, width: "110px", align: "end", sort: (row) => row.producer_id, cell: (row) => number(row.producer_id) },
  { key: "epoch", title: "Epoch", wide: true, width: "70px", align: "end", cell: (row) => row.producer_epoch },
  { key: "started", title: "Began", wide: true, width: "120px", cell: (row) => html`<span class="mono soft">${row.started_ms > 0 ? when(row.started_ms, now) : "–"}</span>` },
  { key: "left", title: "Times out in", width: "110px", align: "end", cell: (row) => (row.state === "Ongoing" ? duration(Math.max(0, row.started_ms + row.timeout_ms - now)) : html`<span class="soft">${duration(row.timeout_ms)}</span>`) },
  { key: "partitions", title: "Partitions", wide: true, width: "minmax(0, 2fr)", cell: (row) => row.partitions.join(", ") },
];

function Transaction({ cluster, row, again }) {
  const act = async (verb, done) => {
    await attempt(() => ask("POST", at(cluster, "transactions", row.id, verb)), done);
    again();
  };
  return html`<aside class="panel scrolls" aria-label="The transaction">
    <header><h2 class="mono">${row.id}</h2><${Button} kind="quiet end" onClick=${() => setQuery({ on: "" })}>Close<//></header>
    <dl class="pairs">
      <dt>State</dt><dd><${Badge} tone=${tone(row.state)}>${row.state}<//></dd>
      <dt>Producer id</dt><dd>${row.producer_id}, epoch ${row.producer_epoch}</dd>
      <dt>Timeout</dt><dd>${duration(row.timeout_ms)}</dd>
      <dt>Partitions</dt><dd>${row.partitions.length ? row.partitions.map((each) => html`<div class="mono">${each}</div>`) : "none"}</dd>
    </dl>
    <div class="bar">
      <${Asking} label="Fence" title=${`Fence ${row.id}?`} text="As another instance of the producer does. An open transaction is aborted." onSubmit=${() => act("fence", `${row.id} is fenced`)} />
      ${row.state === "Ongoing" && html`<${Asking} label="Abort" title=${`Abort the transaction of ${row.id}?`} text="As if its timeout had passed." onSubmit=${() => act("abort", "It is aborted")} />`}
    </div>
  </aside>`;
}

export function Transactions({ cluster, route, clock }) {
  const filter = useRef(null);
  const { data, error, again } = usePoll(at(cluster, "transactions"));
  const topics = usePoll(at(cluster, "topics"), {}, 2000);
  const now = clock.data?.now_ms ?? Date.now();
  const columns = useMemo(() => COLUMNS(now), [now]);
  useFilterKey(filter);
  useKeys({ Escape: () => (route.query.on ? setQuery({ on: "" }) : false) });
  if (!data) return html`<${Waiting} error=${error} />`;
  const wanted = (route.query.q || "").toLowerCase();
  const shown = wanted ? data.filter((row) => row.id.toLowerCase().includes(wanted)) : data;
  const chosen = data.find((row) => row.id === route.query.on);
  const back = (topics.data || []).flatMap((topic) => topic.partitions.filter((each) => each.last_stable_offset < each.end_offset).map((each) => ({ ...each, topic: topic.name })));
  return html`
    <${Head} title="Transactions" />
    ${back.length > 0 && html`<p class="warning" role="status"><span>Readers of committed records wait in
      ${back.slice(0, 4).map((each, i) => html`${i ? ", " : " "}<a href=${href(cluster, "topics", each.topic, "partitions")}>${each.topic}-${each.partition}</a> at ${number(each.last_stable_offset)} of ${number(each.end_offset)}`)}${back.length > 4 ? ` and ${back.length - 4} more` : ""}.</span></p>`}
    ${data.length
      ? html`<div class="bar"><input class="grow" type="search" ref=${filter} value=${route.query.q || ""} aria-label="Filter transactions" placeholder="Filter by id  ( / )" onInput=${(event) => setQuery({ q: event.target.value })} />
          <span class="soft num">${number(shown.length)}</span></div>
        <div class="split ${chosen ? "" : "closed"}">
          <${Grid} label="Transactions" fill narrow=${Boolean(chosen)} columns=${columns} rows=${shown} keyOf=${(row) => row.id} selected=${route.query.on} onSelect=${(row) => setQuery({ on: row.id })} sorted=${{ key: "id" }} />
          ${chosen && html`<${Transaction} cluster=${cluster} row=${chosen} again=${again} />`}
        </div>`
      : html`<${Empty} title="No transactions">A producer with a transactional.id makes one.<//>`}`;
}
