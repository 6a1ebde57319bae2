// The cluster's time: what it is, what it will bring about, and moving it on.

import { useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { clock as shownTime, day, duration, many, when } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { Badge, Button, Choice, Facts, Head, Waiting, attempt } from "../widgets.js";

const STEPS = ["1s", "10s", "46s", "5m", "1h", "1d", "8d"];

function Report({ report }) {
  if (!report) return null;
  const columns = [
    { key: "at", title: "At", width: "170px", cell: (row) => html`<span class="mono soft">${when(row.at_ms, report.now_ms)}</span>` },
    { key: "what", title: "What happened", cell: (row) => row.what },
  ];
  const facts = [
    ["Went on by", duration(report.now_ms - report.from_ms)],
    ["Members let go", report.expired_members.length],
    ["Members kept", report.kept_members],
    ["Transactions aborted", report.aborted.length],
    ["Segments deleted", report.deleted_segments],
  ];
  return html`<section class="section" aria-live="polite"><h2>The last jump</h2>
    <${Facts} facts=${facts} />
    ${report.fired.length > 0 && html`<${Grid} label="What the jump brought about" columns=${columns} rows=${report.fired} keyOf=${(row) => report.fired.indexOf(row)} most=${8} main=${false} />`}
    ${report.notes.map((note) => html`<p class="soft">${note}</p>`)}
  </section>`;
}

function Due({ clock }) {
  const columns = [
    { key: "in", title: "In", width: "84px", align: "end", cell: (row) => html`<b>${duration(Math.max(0, row.at_ms - clock.now_ms))}</b>` },
    { key: "at", title: "At", wide: true, width: "170px", cell: (row) => html`<span class="mono soft">${when(row.at_ms, clock.now_ms)}</span>` },
    { key: "what", title: "What", cell: (row) => row.what },
  ];
  return html`<section class="section"><h2>Due next <span class="soft">${clock.frozen ? "time stands still" : ""}</span></h2>
    ${clock.due.length
      ? html`<${Grid} label="Due next" columns=${columns} rows=${clock.due} keyOf=${(row) => `${row.what}`} most=${12} main=${false} />`
      : html`<p class="soft">No session and no open transaction waits for time to pass.</p>`}</section>`;
}

export function Clock({ cluster, clock }) {
  const { data, error, again } = clock;
  const [members, setMembers] = useState("keep");
  const [report, setReport] = useState(null);
  if (!data) return html`<${Waiting} error=${error} />`;
  const set = async (verb, fields, done) => {
    await attempt(() => ask("POST", at(cluster, "clock", verb), fields), done);
    again();
  };
  const advance = async (fields) => {
    const made = await attempt(() => ask("POST", at(cluster, "clock", "advance"), { members, ...fields }), (told) => `${duration(told.now_ms - told.from_ms)} later: ${told.fired.length ? `${many(told.fired.length, "thing")} happened` : "nothing was due"}`);
    if (made) setReport(made);
    again();
  };
  const submit = (event) => {
    event.preventDefault();
    advance({ by: new FormData(event.target).get("by").trim() });
  };
  const skew = (event) => {
    event.preventDefault();
    set("skew", { by: new FormData(event.target).get("by").trim() }, "New timestamps are off by that");
  };
  return html`
    <${Head} title="Clock">
      <${Button} kind=${data.frozen ? "primary" : ""} onClick=${() => set(data.frozen ? "run" : "freeze", {}, data.frozen ? "Time goes on" : "Time stands still")}>${data.frozen ? "Run" : "Freeze"}<//>
      <${Button} onClick=${() => set("reset", {}, "It is the machine's time again")}>Reset<//>
    <//>
    <div class="panel now">
      <p class="big-time">${shownTime(data.now_ms).slice(0, 8)} <span class="soft day">${day(data.now_ms)}</span></p>
      <div class="bar">
        ${data.frozen ? html`<${Badge} tone="accent">frozen<//>` : html`<${Badge} tone="ok">running<//>`}
        ${Math.abs(data.ahead_ms) > 500 && html`<${Badge} tone="accent">${duration(data.ahead_ms)} ${data.ahead_ms > 0 ? "ahead of" : "behind"} the machine<//>`}
        ${data.skew_ms !== 0 && html`<${Badge} tone="warn">timestamps off by ${duration(data.skew_ms)}<//>`}
      </div>
    </div>
    <section class="section"><h2>Go on</h2>
      <div class="bar">
        <form class="bar" onSubmit=${submit}><input class="short" name="by" aria-label="By" placeholder="1h30m" required autocomplete="off" /><button class="primary">Advance</button></form>
        ${STEPS.map((by) => html`<${Button} onClick=${() => advance({ by })}>${by}<//>`)}
        <${Button} onClick=${() => advance({ next: true })} disabled=${!data.due.length} title="To what is due next">Next<//>
        <${Choice} label="Members whose connections are open" options=${[["keep", "keep members"], ["expire", "let members expire"]]} value=${members} onChange=${setMembers} />
      </div>
    </section>
    <${Due} clock=${data} />
    <${Report} report=${report} />
    <section class="section"><h2>Skew <span class="soft">moves new timestamps alone; sessions do not notice</span></h2>
      <form class="bar" onSubmit=${skew}><input class="short" name="by" aria-label="Skew" placeholder="-1h" required autocomplete="off" /><button>Skew</button></form>
    </section>`;
}
