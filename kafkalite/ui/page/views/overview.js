// The cluster at a glance: how much, how fast, who is connected, what is wrong.

import { useMemo, useRef, useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { bytes, many, number, short } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { History, Plot } from "../plot.js";
import { usePoll, useWhileSeen } from "../poll.js";
import { href } from "../router.js";
import { Asking, attempt, Badge, Copy, Facts, Head, Waiting } from "../widgets.js";

function totals(topics, groups) {
  let records = 0;
  let size = 0;
  for (const topic of topics) {
    for (const each of topic.partitions) {
      records += each.end_offset;
      size += each.size_bytes;
    }
  }
  const lag = groups.flatMap((group) => group.offsets).reduce((sum, each) => sum + each.lag, 0);
  return { records, size, lag };
}

/** Rates from one answer to the next: a reset or a deletion is no negative rate. */
function useRates(topics, groups) {
  const kept = useRef({ history: new History(), last: null });
  return useMemo(() => {
    const { history, last } = kept.current;
    if (!topics || !groups) return history;
    const now = { at: Date.now() / 1000, ...totals(topics, groups) };
    if (last && now.at > last.at) {
      const rate = (field) => Math.max(0, (now[field] - last[field]) / (now.at - last.at));
      history.add(now.at, { records: rate("records"), bytes: rate("size"), lag: now.lag });
    }
    kept.current.last = now;
    return history;
  }, [topics]);
}

/** Requests a second, counted by the broker while this is seen. */
function useTraffic(cluster) {
  const [history, setHistory] = useState(() => new History());
  useWhileSeen(
    async (signal) => {
      while (!signal.aborted) {
        const { seconds, requests } = await ask("GET", at(cluster, "traffic"), { over: "1s" }, signal);
        setHistory((old) => old.with(Date.now() / 1000, { requests: requests / seconds }));
      }
    },
    [cluster],
  );
  return history;
}

function Unsupported({ configs }) {
  const columns = [
    { key: "where", title: "Set for", width: "minmax(90px, 1fr)", cell: (row) => row.where },
    { key: "name", title: "Config", width: "minmax(140px, 2fr)", cell: (row) => html`<span class="mono">${row.name}</span>` },
    { key: "value", title: "Value", width: "minmax(70px, 1fr)", cell: (row) => html`<span class="mono">${row.value}</span>` },
    { key: "why", title: "Here", width: "minmax(120px, 2fr)", cell: (row) => html`<span class="soft">${row.why}</span>` },
  ];
  return html`<section class="section"><h2>Configs without effect <span class="soft">${number(configs.length)}</span></h2>
    <${Grid} label="Configs without effect" columns=${columns} rows=${configs} keyOf=${(row) => `${row.where} ${row.name}`} most=${6} main=${false} /></section>`;
}

function Nodes({ cluster, nodes, again }) {
  const act = async (verb, node) => {
    await attempt(() => ask("POST", at(cluster, "nodes", node, verb)), `Node ${node}: ${verb === "stop" ? "stopped" : "started"}`);
    again();
  };
  const columns = [
    { key: "node", title: "Node", width: "70px", cell: (row) => row.node },
    { key: "address", title: "Address", cell: (row) => html`<span class="mono">${row.address}</span>` },
    { key: "up", title: "State", width: "90px", cell: (row) => html`<${Badge} tone=${row.up ? "ok" : "bad"}>${row.up ? "up" : "down"}<//>` },
    {
      key: "act", title: html`<span class="visually-hidden">Actions</span>`, width: "80px", align: "end",
      cell: (row) => html`<button type="button" onClick=${() => act(row.up ? "stop" : "start", row.node)}>${row.up ? "Stop" : "Start"}</button>`,
    },
  ];
  return html`<section class="section"><h2>Nodes</h2>
    <${Grid} label="Nodes" columns=${columns} rows=${nodes} keyOf=${(row) => row.node} most=${6} main=${false} /></section>`;
}

function Connections({ cluster, connections }) {
  const close = (row) => attempt(() => ask("DELETE", at(cluster, "connections", row.connection)), "The connection is cut");
  const columns = [
    { key: "client_id", title: "Client", cell: (row) => row.client_id || html`<span class="null">no client.id</span>` },
    { key: "connection", title: "From", width: "150px", cell: (row) => html`<span class="mono">${row.connection}</span>` },
    { key: "node", title: "Node", width: "60px", cell: (row) => row.node },
    {
      key: "act", title: html`<span class="visually-hidden">Actions</span>`, width: "70px", align: "end",
      cell: (row) => html`<button type="button" title="Cut it, as a network that fails" onClick=${() => close(row)}>Cut</button>`,
    },
  ];
  return html`<section class="section"><h2>Connections <span class="soft">${number(connections.length)}</span></h2>
    ${connections.length
      ? html`<${Grid} label="Connections" columns=${columns} rows=${connections} keyOf=${(row) => row.connection} most=${8} main=${false} />`
      : html`<p class="soft">No client is connected.</p>`}</section>`;
}

export function Overview({ cluster, here, faults }) {
  const shown = usePoll(at(cluster));
  const topics = usePoll(at(cluster, "topics"));
  const groups = usePoll(at(cluster, "groups"));
  const connections = usePoll(at(cluster, "connections"), {}, 2000);
  const unsupported = usePoll(at(cluster, "unsupported"), {}, 10_000);
  const history = useRates(topics.data, groups.data);
  const traffic = useTraffic(cluster);
  const view = shown.data || here;
  if (!view) return html`<${Waiting} error=${shown.error} />`;
  const reset = async () => {
    const was = await attempt(() => ask("POST", at(cluster, "reset"), {}));
    if (was) shown.again();
  };
  const size = (topics.data || []).flatMap((each) => each.partitions).reduce((sum, each) => sum + each.size_bytes, 0);
  const waiting = (faults.data || []).filter((each) => each.applied === 0 && !each.rule.optional);
  const down = view.nodes.filter((each) => !each.up);
  const plot = (title, name, tone, format, past = history) => html`<${Plot} title=${title} times=${past.times} format=${format}
    series=${[{ name: title, tone, values: past.of(name) }]} />`;
  return html`
    <${Head} title=${cluster === "default" ? "Overview" : cluster}>
      <${Asking} label="Reset" title="Begin again with nothing?" submit="Reset" onSubmit=${reset}
        text="Topics, records, groups, faults and time are gone. The addresses stay, and clients reconnect." />
    <//>
    <${Facts} facts=${[
      ["Bootstrap", html`<span class="mono">${view.bootstrap}</span> <${Copy} text=${view.bootstrap} />`],
      ["Topics", html`<a href=${href(cluster, "topics")}>${number(view.topics)}</a>`],
      ["Records", number(view.records)],
      ["Size", bytes(size)],
      ["Groups", html`<a href=${href(cluster, "groups")}>${number(view.groups)}</a>`],
      ["Connections", number(view.connections)],
      view.resets > 0 && ["Resets", number(view.resets)],
    ]} />
    ${down.length > 0 && html`<p class="warning" role="status">${down.length === 1 ? `Node ${down[0].node} is` : `Nodes ${down.map((each) => each.node).join(", ")} are`} down.</p>`}
    ${waiting.length > 0 && html`<p class="warning" role="status"><span>${many(waiting.length, "fault has", "faults have")} not been applied yet.</span>
      <a href=${href(cluster, "faults")}>See what came instead</a></p>`}
    <div class="plots">
      ${plot("Requests a second", "requests", "accent", short, traffic)}
      ${plot("Records written a second", "records", "accent", short)}
      ${plot("Bytes written a second", "bytes", "ok", bytes)}
      ${plot("Lag of all groups", "lag", "warn", short)}
    </div>
    <div class="columns">
      <${Nodes} cluster=${cluster} nodes=${view.nodes} again=${shown.again} />
      <${Connections} cluster=${cluster} connections=${connections.data || []} />
    </div>
    ${unsupported.data?.length > 0 && html`<${Unsupported} configs=${unsupported.data} />`}`;
}
