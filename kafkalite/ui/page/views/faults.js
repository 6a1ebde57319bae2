// Fault rules: what each waits for, how often it came true, and what came instead.

import { useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { clock as shownTime, many, number } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { useKeys } from "../keys.js";
import { usePoll } from "../poll.js";
import { setQuery } from "../router.js";
import { Json } from "../value.js";
import { Asking, attempt, Badge, Button, Empty, Head, Waiting } from "../widgets.js";
import { AddFault } from "./fault_form.js";

const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));

export function whenOf(rule) {
  const { request, records, ...plain } = rule.when || {};
  const parts = Object.entries(plain).map(([name, value]) => (name === "api" ? said(value) : `${name} ${said(value)}`));
  for (const [path, value] of Object.entries(request || {})) parts.push(`${path} ${said(value)}`);
  if (records) parts.push(`records ${said(records)}`);
  return parts.join(", ") || "any request";
}

function actionOf(action) {
  const [[kind, value], ...more] = Object.entries(action);
  const rest = more.map(([name, each]) => `${name} ${said(each)}`);
  return [value === true ? kind : `${kind} ${said(value)}`, ...rest].join(", ");
}

export function doOf(rule) {
  if (rule.sequence?.length) return rule.sequence.map((turn) => turn.map(actionOf).join(" + ") || "pass").join(" → ");
  return (rule.do || []).map(actionOf).join(" + ");
}

function stateOf(view) {
  if (view.held) return ["warn", `holds ${number(view.held)}`];
  if (view.left === 0) return ["", "done"];
  return view.applied ? ["fault", "active"] : ["accent", "waiting"];
}

const COLUMNS = [
  { key: "id", title: "Fault", width: "minmax(90px, 1fr)", cell: (row) => html`<span class="mono">${row.rule.id}</span>` },
  { key: "when", title: "When", width: "minmax(100px, 2.5fr)", cell: (row) => whenOf(row.rule) },
  { key: "do", title: "Do", width: "minmax(90px, 2fr)", cell: (row) => doOf(row.rule) },
  { key: "state", title: "State", width: "92px", cell: (row) => html`<${Badge} tone=${stateOf(row)[0]}>${stateOf(row)[1]}<//>` },
  { key: "matched", title: "Matched", wide: true, width: "74px", align: "end", sort: (row) => row.matched, cell: (row) => number(row.matched) },
  { key: "applied", title: "Applied", width: "70px", align: "end", sort: (row) => row.applied, cell: (row) => html`<b>${number(row.applied)}</b>` },
  { key: "left", title: "Left", wide: true, width: "66px", align: "end", cell: (row) => (row.left === null ? "always" : number(row.left)) },
];

const HITS = [
  { key: "at", title: "Time", width: "104px", cell: (row) => html`<span class="mono soft">${shownTime(row.at_ms)}</span>` },
  { key: "client", title: "Client", cell: (row) => row.client_id },
  { key: "api", title: "Request", width: "120px", cell: (row) => row.api },
  { key: "did", title: "Did", cell: (row) => row.did.join(", ") },
];

function Fault({ cluster, view, again, onClose }) {
  const { rule, hits, near, held } = view;
  const act = async (verb, path, done) => {
    await attempt(() => ask(verb, path, {}), done);
    again();
  };
  const path = at(cluster, "faults", rule.id);
  return html`<aside class="panel scrolls" aria-label="The fault">
    <header><h2 class="mono">${rule.id}</h2>
      ${held > 0 && html`<${Button} onClick=${() => act("POST", `${path}/release`, "They may go on")}>Release ${number(held)}<//>`}
      <${Button} kind="danger" onClick=${() => { act("DELETE", path, `${rule.id} is gone`); onClose(); }}>Remove<//>
      <${Button} kind="quiet end" onClick=${onClose}>Close<//></header>
    ${rule.note && html`<p>${rule.note}</p>`}
    ${!view.applied && near.length > 0 && html`<section class="section"><h2>It was not applied, as</h2>
      <ul class="near">${near.map((each) => html`<li>${many(each.count, "time")} <b>${each.criterion}</b> was ${each.seen.map((text) => html`<code>${text}</code> `)}</li>`)}</ul></section>`}
    ${!view.applied && near.length === 0 && html`<p class="soft">No request of this kind has come yet.</p>`}
    ${hits.length > 0 && html`<section class="section"><h2>Applied <span class="soft">the last ${number(hits.length)}</span></h2>
      <${Grid} label="Applications" columns=${HITS} rows=${hits} keyOf=${(row) => hits.indexOf(row)} most=${8} main=${false} /></section>`}
    <section class="section"><h2>The rule</h2><${Json} value=${rule} label="The rule as JSON" /></section>
  </aside>`;
}

export function Faults({ cluster, route, faults }) {
  const { data, error, again } = faults;
  const [isAdding, setAdding] = useState(false);
  const presets = usePoll(at(cluster, "fault-presets"), {}, 60_000);
  useKeys({ a: () => setAdding(true), Escape: () => (route.query.on ? setQuery({ on: "" }) : false) });
  if (!data) return html`<${Waiting} error=${error} />`;
  const chosen = data.find((each) => each.rule.id === route.query.on);
  const clear = async () => {
    await attempt(() => ask("DELETE", at(cluster, "faults")), "All faults are gone");
    again();
  };
  return html`
    <${Head} title="Faults">
      ${data.length > 0 && html`<${Asking} label="Clear" title="Take all faults out?" text="What they hold may go on." onSubmit=${clear} />`}
      <${Button} kind="primary" onClick=${() => setAdding(true)} title="a">Add fault<//>
    <//>
    ${data.length
      ? html`<div class="split ${chosen ? "" : "closed"}">
          <${Grid} label="Faults" fill narrow=${Boolean(chosen)} columns=${COLUMNS} rows=${data} keyOf=${(row) => row.rule.id} selected=${route.query.on}
            tone=${(row) => (row.left === 0 ? "off" : "")} onSelect=${(row) => setQuery({ on: row.rule.id })} />
          ${chosen && html`<${Fault} cluster=${cluster} view=${chosen} again=${again} onClose=${() => setQuery({ on: "" })} />`}
        </div>`
      : html`<${Empty} title="No faults">A fault makes a rare answer happen: a lost acknowledgement, a coordinator that loads, a slow broker.<//>`}
    ${isAdding && html`<${AddFault} cluster=${cluster} presets=${presets.data || []} done=${again} onClose=${() => setAdding(false)} />`}`;
}
