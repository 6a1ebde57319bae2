// One request and its answer, side by side, as the broker decodes them.

import { bytes, clock as shownTime, duration } from "../format.js";
import { html } from "../html.js";
import { Json } from "../value.js";
import { Badge, Button, Waiting } from "../widgets.js";

/** The rule that would let this request fail again. */
export function faultOf(entry) {
  const when = { api: entry.api };
  if (entry.client_id) when.client_id = entry.client_id;
  if (entry.topics?.length === 1) [when.topic] = entry.topics;
  return { when, times: 1, do: [{ drop: "after" }] };
}

export function Exchange({ entry, decoded, error, onClose, onFault }) {
  const took = entry.answered_ms == null ? null : entry.answered_ms - entry.received_ms;
  return html`<aside class="panel scrolls exchange" aria-label="The request and its answer">
    <header><h2>${entry.api} <span class="soft">v${entry.version}</span></h2>
      ${(entry.errors || [entry.error]).map((error) => error && html`<${Badge} tone="bad">${error}<//>`)}
      ${entry.fault && html`<${Badge} tone="fault">fault ${entry.fault}<//>`}
      ${entry.outcome !== "answered" && html`<${Badge} tone="warn">${entry.outcome}<//>`}
      <span class="end"></span>
      ${onFault && html`<${Button} onClick=${() => onFault(faultOf(entry))}>Make a fault of this<//>`}
      <${Button} kind="quiet" onClick=${onClose} title="Esc">Close<//></header>
    <dl class="pairs">
      <dt>Client</dt><dd>${entry.client_id || html`<span class="null">no client.id</span>`} <span class="mono soft">${entry.connection}</span></dd>
      <dt>Came</dt><dd class="mono">${shownTime(entry.received_ms)} ${Math.abs(entry.cluster_ms - entry.received_ms) > 1000 && html`<span class="soft">by the cluster's clock ${shownTime(entry.cluster_ms)}, </span>`}<span class="soft">no. ${entry.seq}, correlation id ${entry.correlation_id}</span></dd>
      <dt>Took</dt><dd>${took === null ? "no answer" : duration(took)}${entry.parked_ms ? html`, <span class="soft">${duration(entry.parked_ms)} of it parked</span>` : ""}</dd>
    </dl>
    <div class="side-by-side">
      <section class="value-box"><h3>Request <span class="soft">${bytes(entry.request_bytes)}</span></h3>
        ${decoded ? html`<${Json} value=${decoded.request} label="The request" />` : html`<${Waiting} error=${error} />`}</section>
      <section class="value-box"><h3>Answer <span class="soft">${bytes(entry.answer_bytes || 0)}</span></h3>
        ${decoded ? html`<${Json} value=${decoded.answer} label="The answer" />` : html`<${Waiting} error=${error} />`}</section>
    </div>
  </aside>`;
}
