// Adding a fault: as a form, from a ready-made one, or as JSON.

import { useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { html } from "../html.js";
import { attempt, Choice, Dialog, Field, tell } from "../widgets.js";

const APIS = [
  "Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup",
  "Heartbeat", "LeaveGroup", "SyncGroup", "ConsumerGroupHeartbeat", "InitProducerId", "AddPartitionsToTxn",
  "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "CreateTopics", "DeleteTopics", "DescribeConfigs", "ApiVersions",
];
// [what it says, the action it makes of the value, the value's label and example]
const ACTIONS = {
  drop_after: ["do it, then close the connection", () => ({ drop: "after" })],
  drop_before: ["close the connection, do nothing", () => ({ drop: "before" })],
  silence_after: ["do it, and never answer", () => ({ silence: "after" })],
  silence_before: ["never answer, do nothing", () => ({ silence: "before" })],
  error: ["answer with an error", (value) => ({ error: value }), "Error", "NOT_LEADER_OR_FOLLOWER"],
  delay: ["let it wait", (value) => ({ delay: value }), "How long", "250ms"],
  hold: ["hold it until it is released", () => ({ hold: true })],
  throttle: ["do it, and throttle the client", (value) => ({ throttle: value }), "How long", "2s"],
  cut: ["send a part of the answer, then close", (value) => ({ cut: Number(value) }), "Part, or bytes", "0.5"],
  corrupt: ["damage the records that are read", (value) => ({ corrupt: value }), "What", "crc"],
  repeat: ["write the batch twice", (value) => ({ repeat: Number(value) }), "How often", "2"],
};
const CRITERIA = [
  ["topic", "orders, orders-*"],
  ["partition", "0"],
  ["client_id", "app"],
  ["group", "billing"],
  ["transactional_id", "billing-*"],
  ["node", "1"],
];
const EXAMPLE = `{
  "when": {"api": "EndTxn", "transactional_id": "billing-*"},
  "times": 1,
  "do": [{"silence": "after"}]
}`;

const asNumber = (text) => (/^\d+$/.test(text) ? Number(text) : text);

function ruleOf(form) {
  const when = {};
  if (form.api) when.api = form.api;
  for (const [name] of CRITERIA) if (form[name]) when[name] = asNumber(form[name]);
  const rule = { when, do: [ACTIONS[form.action][1](form.value)] };
  if (form.id) rule.id = form.id;
  if (form.skip) rule.skip = Number(form.skip);
  rule.times = form.times === "" ? null : Number(form.times);
  return rule;
}

function Form() {
  const [action, setAction] = useState("drop_after");
  const [, , label, example] = ACTIONS[action];
  return html`<div class="form">
    <${Field} label="Request"><input name="api" list="apis" placeholder="any" autocomplete="off" autofocus /><datalist id="apis">${APIS.map((api) => html`<option value=${api} />`)}</datalist><//>
    ${CRITERIA.map(([name, hint]) => html`<${Field} label=${name}><input name=${name} placeholder=${hint} autocomplete="off" spellcheck="false" /><//>`)}
    <${Field} label="What happens" wide><select name="action" value=${action} onChange=${(event) => setAction(event.target.value)}>
      ${Object.entries(ACTIONS).map(([key, [text]]) => html`<option value=${key}>${text}</option>`)}</select><//>
    ${label && html`<${Field} label=${label} wide><input name="value" required placeholder=${example} autocomplete="off" spellcheck="false" /><//>`}
    <${Field} label="Skip the first"><input name="skip" type="number" min="0" placeholder="0" /><//>
    <${Field} label="Times (empty: always)"><input name="times" type="number" min="1" defaultValue="1" /><//>
    <${Field} label="Name"><input name="id" placeholder="made up" autocomplete="off" /><//>
  </div>`;
}

function Presets({ presets }) {
  const [name, setName] = useState(presets[0]?.name);
  const preset = presets.find((each) => each.name === name);
  if (!preset) return null;
  return html`<div class="form">
    <${Field} label="Ready-made" wide><select name="preset" value=${name} onChange=${(event) => setName(event.target.value)} autofocus>
      ${presets.map((each) => html`<option value=${each.name}>${each.name.replaceAll("_", " ")}</option>`)}</select><//>
    <p class="wide soft">${preset.doc}</p>
    ${preset.parameters.map((each) => html`<${Field} key=${`${name}/${each}`} label=${each}><input name=${`with_${each}`} required=${preset.required.includes(each)}
      placeholder=${preset.required.includes(each) ? "" : "as usual"} autocomplete="off" spellcheck="false" /><//>`)}
  </div>`;
}

export function AddFault({ cluster, presets, done, onClose }) {
  const [kind, setKind] = useState("form");
  const add = async (form) => {
    let answer;
    if (kind === "preset") {
      const parameters = {};
      for (const [name, value] of Object.entries(form)) if (name.startsWith("with_") && value !== "") parameters[name.slice(5)] = value;
      answer = await attempt(() => ask("POST", at(cluster, "fault-presets", form.preset), { parameters }), `${form.preset} is in`);
    } else {
      let rule;
      try {
        rule = kind === "json" ? JSON.parse(form.json) : ruleOf(form);
      } catch (error) {
        tell(`This is not JSON: ${error.message}`, "bad");
        return false;
      }
      answer = await attempt(() => ask("POST", at(cluster, "faults"), rule), (view) => `Fault ${view.rule.id} is in`);
    }
    done();
    return answer !== undefined;
  };
  return html`<${Dialog} title="Add a fault" submit="Add" onSubmit=${add} onClose=${onClose}>
    <div><${Choice} label="How" options=${[["form", "Form"], ["preset", "Ready-made"], ["json", "JSON"]]} value=${kind} onChange=${setKind} /></div>
    ${kind === "form" && html`<${Form} />`}
    ${kind === "preset" && html`<${Presets} presets=${presets} />`}
    ${kind === "json" && html`<${Field} label="The rule"><textarea name="json" rows="10" spellcheck="false" defaultValue=${EXAMPLE} autofocus></textarea><//>`}
  <//>`;
}
