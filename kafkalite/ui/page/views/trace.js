// A trace from a test that failed, dropped here: the same view, without its broker.

import { useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { Facts, Head, Problem } from "../widgets.js";
import { lines, unzipped } from "../zip.js";
import { Conversation } from "./conversation.js";
import { marksOf } from "./marks.js";

// Kept while the page is open, so that another view in between does not lose it.
let opened = null;

async function traceOf(file) {
  const files = await unzipped(await file.arrayBuffer());
  if (!("requests.jsonl" in files)) throw new Error(`${file.name} has no requests.jsonl: it is no trace`);
  const requests = lines(files["requests.jsonl"]);
  return {
    name: file.name,
    meta: files["meta.json"] ? JSON.parse(files["meta.json"]) : {},
    requests,
    byNumber: new Map(requests.map((each) => [each.seq, each])),
    marks: marksOf(lines(files["events.jsonl"])),
  };
}

export function Trace({ route }) {
  const [trace, setTrace] = useState(opened);
  const [error, setError] = useState(null);
  const [isOver, setOver] = useState(false);
  const input = useRef(null);
  const open = async (file) => {
    if (!file) return;
    try {
      opened = await traceOf(file);
      setTrace(opened);
      setError(null);
    } catch (caught) {
      setError(caught);
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    open(event.dataTransfer.files[0]);
  };
  const over = (event) => {
    event.preventDefault();
    setOver(event.type === "dragover");
  };
  const choose = html`<button type="button" class=${trace ? "" : "primary"} onClick=${() => input.current.click()}>Open a trace</button>
    <input ref=${input} type="file" accept=".zip" hidden aria-label="Trace file" onChange=${(event) => open(event.target.files[0])} />`;
  if (!trace) {
    return html`<${Head} title="Trace" />
      <${Problem} error=${error} />
      <div class="drop ${isOver ? "over" : ""}" onDragOver=${over} onDragLeave=${over} onDrop=${drop}>
        <strong>Drop a trace.zip here</strong><p>It stays in this tab: nothing is sent anywhere.</p><p>${choose}</p></div>`;
  }
  const useDecoded = (entry) => ({ decoded: entry && trace.byNumber.get(entry.seq), error: null });
  const { meta } = trace;
  return html`<div class="through" onDragOver=${over} onDrop=${drop}>
    <${Head} title=${trace.name} up=${{ title: "Trace", href: location.hash }}>${choose}<//>
    <${Problem} error=${error} />
    <${Facts} facts=${Object.entries(meta).filter(([, value]) => ["string", "number"].includes(typeof value)).slice(0, 6)} />
    <${Conversation} entries=${trace.requests} marks=${trace.marks} query=${route.query} useDecoded=${useDecoded} />
  </div>`;
}
