// A key, a value or a header as a person reads it: text, JSON or hex.

import { useState } from "preact/hooks";
import { bytes } from "./format.js";
import { html } from "./html.js";
import { Choice, Copy } from "./widgets.js";

const MOST_HEX_BYTES = 16_384;

export function bytesOf(text, encoding) {
  if (encoding !== "base64") return new TextEncoder().encode(text);
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function parsed(text) {
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One line for a cell of a table. */
export function preview(text, encoding, most = 300) {
  if (text === null) return html`<span class="null">null</span>`;
  if (text === "") return html`<span class="null">empty</span>`;
  if (encoding === "base64") {
    const some = [...bytesOf(text.slice(0, 64), "base64")].map((byte) => byte.toString(16).padStart(2, "0"));
    return html`<span class="mono binary">${some.join(" ")}</span>`;
  }
  return html`<span class="mono">${text.slice(0, most)}</span>`;
}

const SIGNS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Text of JSON with its signs told apart by colour. */
export function coloured(text) {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(SIGNS)) {
    const [whole, string, colon, word] = match;
    if (match.index > last) parts.push(text.slice(last, match.index));
    const kind = string ? (colon ? "name" : "string") : word ? "word" : "number";
    parts.push(html`<span class=${`json-${kind}`}>${string || whole}</span>${colon || ""}`);
    last = match.index + whole.length;
  }
  parts.push(text.slice(last));
  return parts;
}

export function Json({ value, label }) {
  return html`<pre class="value" tabindex="0" role="region" aria-label=${label}>${coloured(JSON.stringify(value, null, 2))}</pre>`;
}

function hexDump(data) {
  const lines = [];
  for (let at = 0; at < Math.min(data.length, MOST_HEX_BYTES); at += 16) {
    const row = [...data.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const halves = `${hex.slice(0, 8).join(" ").padEnd(23)}  ${hex.slice(8).join(" ").padEnd(23)}`;
    const text = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${halves}  ${text}`);
  }
  if (data.length > MOST_HEX_BYTES) lines.push(`… ${bytes(data.length - MOST_HEX_BYTES)} more`);
  return lines.join("\n");
}

const KINDS = { AVRO: "Avro", PROTOBUF: "Protobuf", JSON: "JSON Schema" };

/** `decoded`: what its schema makes of it: { schema_id, kind, name, value, problem }. */
export function Value({ label, text, encoding = "utf-8", decoded }) {
  const [wanted, setWanted] = useState(null);
  if (text === null || text === undefined) return html`<section class="value-box"><h3>${label} <span class="null">null</span></h3></section>`;
  const json = encoding === "utf-8" ? parsed(text) : undefined;
  const kinds = [
    decoded && !decoded.problem && ["schema", KINDS[decoded.kind] || decoded.kind],
    json !== undefined && ["json", "JSON"],
    encoding === "utf-8" && ["text", "Text"],
    ["hex", "Hex"],
  ].filter(Boolean);
  const kind = kinds.some(([key]) => key === wanted) ? wanted : kinds[0][0];
  const data = bytesOf(text, encoding);
  const shown = {
    schema: () => coloured(JSON.stringify(decoded.value, null, 2)),
    json: () => coloured(JSON.stringify(json, null, 2)),
    text: () => text,
    hex: () => hexDump(data),
  }[kind]();
  return html`<section class="value-box">
    <h3>${label} <span class="soft">${bytes(data.length)}</span>
      <${Choice} label=${`${label} as`} options=${kinds} value=${kind} onChange=${setWanted} />
      <${Copy} text=${kind === "hex" ? hexDump(data) : kind === "text" ? text : JSON.stringify(kind === "json" ? json : decoded.value, null, 2)} label="Copy" />
    </h3>
    ${decoded && html`<p class=${decoded.problem ? "problem" : "soft"}>schema ${decoded.schema_id} ${decoded.name} ${decoded.problem}</p>`}
    <pre class="value ${kind === "hex" ? "hex" : ""}" tabindex="0" role="region" aria-label=${`${label} as ${kind}`}>${shown}</pre>
  </section>`;
}
