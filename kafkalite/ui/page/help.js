// The keys, on "?".

import { html } from "./html.js";
import { Dialog } from "./widgets.js";

const KEYS = [
  [["/"], "filter or search"],
  [["j", "k"], "next row, the row before"],
  [["Enter"], "open the row"],
  [["Esc"], "close, leave a field"],
  [["1", "–", "8"], "go to a view"],
  [["f"], "follow records, or pause"],
  [["a"], "add a fault"],
  [["+", "−", "0"], "zoom the requests in, out, back; all of them"],
  [["←", "→"], "move along the requests"],
  [["?"], "these keys"],
];

export function Help({ onClose }) {
  return html`<${Dialog} title="Keys" onSubmit=${() => {}} onClose=${onClose}>
    <dl class="keys">${KEYS.map(([keys, text]) => html`<dt>${keys.map((key) => (key === "–" ? html`<span>–</span>` : html`<kbd>${key}</kbd>`))}</dt><dd>${text}</dd>`)}</dl>
  <//>`;
}
