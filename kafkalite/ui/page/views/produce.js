// Writing records by hand.

import { useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { many } from "../format.js";
import { html } from "../html.js";
import { attempt, Button, Dialog, Field } from "../widgets.js";

function headersOf(text) {
  const pairs = text.split("\n").filter((line) => line.includes(":"));
  return Object.fromEntries(pairs.map((line) => [line.slice(0, line.indexOf(":")).trim(), line.slice(line.indexOf(":") + 1).trim()]));
}

export function Produce({ cluster, topic, done }) {
  const [open, setOpen] = useState(false);
  const [isNull, setNull] = useState(false);
  const produce = async ({ key, value, partition, headers, count, encoding, timestamp }) => {
    const record = {
      key: key === "" ? null : key,
      value: isNull ? null : value,
      partition: partition === "" ? null : Number(partition),
      headers: headersOf(headers),
      count: Number(count || 1),
      value_encoding: encoding,
    };
    if (timestamp) record.timestamp = timestamp;
    const written = await attempt(
      () => ask("POST", at(cluster, "topics", topic.name, "records"), { records: [record] }),
      (answer) => `${many(answer.places.length, "record")} written at ${topic.name}-${answer.places[0].partition}, offset ${answer.places[0].offset}`,
    );
    done();
    return written !== undefined;
  };
  return html`<${Button} kind="primary" onClick=${() => setOpen(true)}>Produce<//>
    ${open && html`<${Dialog} title=${`Produce to ${topic.name}`} submit="Produce" onSubmit=${produce} onClose=${() => setOpen(false)}>
      <div class="form">
        <${Field} label="Value" wide><textarea name="value" rows="6" spellcheck="false" disabled=${isNull} autofocus></textarea><//>
        <label class="check"><input type="checkbox" checked=${isNull} onChange=${(event) => setNull(event.target.checked)} />null (a tombstone)</label>
        <${Field} label="Value is"><select name="encoding"><option value="utf-8">text</option><option value="base64">base64</option></select><//>
        <${Field} label="Key (empty: none)"><input name="key" autocomplete="off" spellcheck="false" /><//>
        <${Field} label="Partition"><select name="partition"><option value="">as Java chooses</option>${topic.partitions.map((each) => html`<option>${each.partition}</option>`)}</select><//>
        <${Field} label="How many"><input name="count" type="number" min="1" max="100000" defaultValue="1" /><//>
        <${Field} label="Time (empty: now)"><input name="timestamp" placeholder="-7d" autocomplete="off" /><//>
        <${Field} label="Headers, a line each" wide><textarea name="headers" rows="2" placeholder="name: value" spellcheck="false"></textarea><//>
      </div>
    <//>`}`;
}
