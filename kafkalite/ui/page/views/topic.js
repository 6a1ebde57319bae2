// One topic: its records, its partitions, its configs.

import { useMemo } from "preact/hooks";
import { ask, at } from "../api.js";
import { bytes, kafkaId, many, number } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { usePoll } from "../poll.js";
import { go, href } from "../router.js";
import { Asking, attempt, Badge, Facts, Field, Head, Tabs, Waiting } from "../widgets.js";
import { Produce } from "./produce.js";
import { Records } from "./records.js";
import { summary } from "./topics.js";

function Partitions({ cluster, topic, again }) {
  const columns = useMemo(
    () => [
      { key: "partition", title: "Partition", width: "84px", sort: (row) => row.partition, cell: (row) => html`<a href=${`${href(cluster, "topics", topic.name)}?partition=${row.partition}`}>${row.partition}</a>` },
      { key: "leader", title: "Leader", width: "90px", cell: (row) => (row.leader < 0 ? html`<${Badge} tone="bad">none<//>` : row.leader) },
      { key: "replicas", title: "Replicas", width: "110px", cell: (row) => row.replicas.join(", ") },
      { key: "isr", title: "In sync", width: "110px", cell: (row) => html`<span class=${row.in_sync_replicas.length < row.replicas.length ? "problem" : ""}>${row.in_sync_replicas.join(", ")}</span>` },
      { key: "start", title: "Start", align: "end", sort: (row) => row.start_offset, cell: (row) => number(row.start_offset) },
      { key: "end", title: "End", align: "end", sort: (row) => row.end_offset, cell: (row) => number(row.end_offset) },
      { key: "lso", title: "Last stable", align: "end", cell: (row) => (row.last_stable_offset < row.end_offset ? html`<${Badge} tone="warn">${number(row.last_stable_offset)}<//>` : number(row.last_stable_offset)) },
      { key: "size", title: "Size", width: "100px", align: "end", sort: (row) => row.size_bytes, cell: (row) => bytes(row.size_bytes) },
    ],
    [cluster, topic.name],
  );
  const act = async (verb, fields, done) => {
    const answer = await attempt(() => ask("POST", at(cluster, "topics", topic.name, verb), fields), done);
    again();
    return answer !== undefined;
  };
  const clean = async () => {
    await attempt(() => ask("POST", at(cluster, "clean"), {}), (done) => `${many(done.removed, "record")} went`);
    again();
  };
  const numbers = html`<input name="partition" type="number" min="0" max=${topic.partitions.length - 1} defaultValue="0" required />`;
  return html`
    <div class="bar">
      <${Asking} label="Lose records" title="Lose the oldest records, as retention does" submit="Lose"
        onSubmit=${(form) => act("lose", { partition: Number(form.partition), to: Number(form.to || -1) }, "They are gone")}>
        <div class="form"><${Field} label="Partition">${numbers}<//>
          <${Field} label="First offset that stays"><input name="to" type="number" min="0" placeholder="lose all" /><//></div><//>
      <${Asking} label="Make a gap" title="Take records out, as compaction does" submit="Take out"
        onSubmit=${(form) => act("gap", { partition: Number(form.partition), first: Number(form.first), end: Number(form.end) }, "There is a gap")}>
        <div class="form"><${Field} label="Partition">${numbers}<//>
          <${Field} label="From offset"><input name="first" type="number" min="0" required /><//>
          <${Field} label="To before offset"><input name="end" type="number" min="1" required /><//></div><//>
      <${Asking} label="Move leaders" danger=${false} title="Let another replica lead" submit="Move"
        text="The next replica in sync leads each partition." onSubmit=${() => act("lead", {}, "Others lead")} />
      <${Asking} label="Clean" title="Clean now" submit="Clean" onSubmit=${clean}
        text="Retention and compaction take from every topic of the cluster what they may, without waiting for their interval." />
    </div>
    <${Grid} label=${`Partitions of ${topic.name}`} fill columns=${columns} rows=${topic.partitions} keyOf=${(row) => row.partition}
      sorted=${{ key: "partition" }} main=${false} />`;
}

function Configs({ topic }) {
  const names = Object.keys(topic.configs).sort();
  if (!names.length) return html`<p class="soft">All configs are the broker's defaults.</p>`;
  return html`<dl class="pairs panel">${names.map((name) => html`<dt class="mono">${name}</dt><dd class="mono">${topic.configs[name]}</dd>`)}</dl>`;
}

export function Topic({ cluster, route }) {
  const { data, error, again } = usePoll(at(cluster, "topics", route.name));
  const up = { title: "Topics", href: href(cluster, "topics") };
  if (!data) return html`<${Head} title=${route.name} up=${up} /><${Waiting} error=${error} />`;
  const topic = summary(data);
  const tab = route.tab || "records";
  const here = (each) => href(cluster, "topics", topic.name, each);
  const remove = async () => {
    const done = await attempt(() => ask("DELETE", at(cluster, "topics", topic.name)), `Topic ${topic.name} is gone`);
    if (done) go(href(cluster, "topics"));
  };
  return html`
    <${Head} title=${topic.name} up=${up}>
      <${Produce} cluster=${cluster} topic=${topic} done=${again} />
      <${Asking} label="Delete" title=${`Delete ${topic.name}?`} text=${`${many(topic.records, "record")} will be gone.`} onSubmit=${remove} />
    <//>
    <${Facts} facts=${[
      ["Records", number(topic.records)],
      ["Partitions", number(topic.partitions.length)],
      ["Size", bytes(topic.size)],
      topic.configs["cleanup.policy"] && ["Cleanup", topic.configs["cleanup.policy"]],
      ["Topic id", html`<span class="mono">${kafkaId(topic.topic_id)}</span>`],
    ]} />
    <${Tabs} label="Parts of the topic" current=${tab} tabs=${[
      ["records", "Records", here("records")],
      ["partitions", "Partitions", here("partitions")],
      ["configs", "Configs", here("configs")],
    ]} />
    ${tab === "partitions"
      ? html`<${Partitions} cluster=${cluster} topic=${topic} again=${again} />`
      : tab === "configs"
        ? html`<${Configs} topic=${topic} />`
        : html`<${Records} cluster=${cluster} topic=${topic} query=${route.query} />`}`;
}
