// One group: its members, what each has, how far behind it is, and where it goes on.

import { useMemo, useRef, useState } from "preact/hooks";
import { ask, at } from "../api.js";
import { duration, number, ranges, short, timeOf } from "../format.js";
import { Grid } from "../grid.js";
import { html } from "../html.js";
import { History, Plot } from "../plot.js";
import { usePoll } from "../poll.js";
import { go, href } from "../router.js";
import { Asking, attempt, Badge, Button, Facts, Field, Head, Waiting } from "../widgets.js";
import { lagOf, stateTone } from "./groups.js";

const TONES = ["accent", "ok", "warn", "fault"];
// Lag of groups that were looked at, for as long as the page is open.
const histories = new Map();

function useLag(cluster, group) {
  const key = `${cluster}/${group?.id}`;
  return useMemo(() => {
    if (!histories.has(key)) histories.set(key, new History());
    const history = histories.get(key);
    if (group) {
      const lags = {};
      for (const each of group.offsets) lags[each.topic] = (lags[each.topic] || 0) + each.lag;
      history.add(Date.now() / 1000, lags);
    }
    return history;
  }, [group]);
}

function rowsOf(group) {
  const rows = new Map();
  const key = (topic, partition) => `${topic}-${partition}`;
  for (const each of group.offsets) rows.set(key(each.topic, each.partition), { ...each, member: null });
  for (const member of group.members) {
    for (const [topic, partitions] of Object.entries(member.assigned)) {
      for (const partition of partitions) {
        const old = rows.get(key(topic, partition)) || { topic, partition, offset: null, lag: null };
        rows.set(key(topic, partition), { ...old, member });
      }
    }
  }
  return [...rows.values()];
}

const nameOf = (member) => member.instance_id || member.member_id;

function Members({ cluster, group, again }) {
  const expire = async (member) => {
    await attempt(() => ask("POST", at(cluster, "groups", group.id, "expire"), { member: member.member_id }), `${nameOf(member)} was let go`);
    again();
  };
  const columns = [
    { key: "member", title: "Member", width: "minmax(80px, 2fr)", cell: (row) => html`<span class="mono" title=${row.member_id}>${nameOf(row)}</span>` },
    { key: "client", title: "Client", width: "minmax(70px, 1fr)", cell: (row) => row.client_id },
    { key: "host", title: "Host", wide: true, width: "104px", cell: (row) => html`<span class="mono soft">${row.client_host}</span>` },
    { key: "ready", title: "State", wide: true, width: "84px", cell: (row) => html`<${Badge} tone=${row.ready ? "ok" : "warn"}>${row.ready ? "ready" : "joining"}<//>` },
    {
      key: "assigned", title: "Has", width: "minmax(90px, 2fr)",
      cell: (row) => Object.entries(row.assigned).map(([topic, some]) => `${topic} ${ranges(some)}`).join("; ") || html`<span class="soft">nothing</span>`,
    },
    { key: "session", title: "Session ends in", wide: true, width: "116px", align: "end", cell: (row) => (row.session_ends_in_ms === null ? "–" : duration(row.session_ends_in_ms)) },
    {
      key: "act", title: html`<span class="visually-hidden">Actions</span>`, width: "84px", align: "end",
      cell: (row) => html`<button type="button" title="As if nothing had been heard of it" onClick=${() => expire(row)}>Expire</button>`,
    },
  ];
  return html`<section class="section"><h2>Members <span class="soft">${number(group.members.length)}</span></h2>
    ${group.members.length
      ? html`<${Grid} label="Members" columns=${columns} rows=${group.members} keyOf=${(row) => row.member_id} most=${8} main=${false} />`
      : html`<p class="soft">The group has no members.</p>`}</section>`;
}

function Seek({ cluster, group, again }) {
  const topics = [...new Set(group.offsets.map((each) => each.topic))];
  const all = usePoll(!topics.length && at(cluster, "topics"), {}, 5000).data || [];
  const names = topics.length ? topics : all.map((each) => each.name);
  const [to, setTo] = useState("earliest");
  const [place, setPlace] = useState({ topic: "", partition: "" });
  const chose = (name) => (event) => setPlace((old) => ({ ...old, [name]: event.target.value }));
  const shown = group.offsets.find((each) => (!place.topic || each.topic === place.topic) && (place.partition === "" || each.partition === Number(place.partition)));
  const seek = async ({ topic, partition, to, offset, time }) => {
    const chosen = topic ? [topic] : names;
    const place = to === "time" ? { since: timeOf(time) ?? time } : { to: to === "offset" ? Number(offset) : to };
    for (const name of chosen) {
      const fields = { topic: name, ...place };
      if (partition !== "") fields.partition = Number(partition);
      const done = await attempt(() => ask("PUT", at(cluster, "groups", group.id, "offsets"), fields), `${group.id} goes on in ${name} from ${to === "time" ? time : fields.to}`);
      if (done === undefined) return false;
    }
    again();
    return true;
  };
  return html`<${Asking} label="Seek" title=${`Where ${group.id} goes on`} submit="Seek" danger=${false} onSubmit=${seek}
    text=${group.members.length ? "The group has members. Kafka sets offsets of groups without members only: stop them first." : ""}>
    <div class="form">
      <${Field} label="Topic"><select name="topic" onChange=${chose("topic")}>${topics.length > 1 && html`<option value="">all of its topics</option>`}${names.map((name) => html`<option>${name}</option>`)}</select><//>
      <${Field} label="Partition"><input name="partition" type="number" min="0" placeholder="all" onInput=${chose("partition")} /><//>
      <${Field} label="To"><select name="to" value=${to} onChange=${(event) => setTo(event.target.value)}><option value="earliest">the beginning</option><option value="latest">the end</option><option value="offset">an offset</option><option value="time">a time</option></select><//>
      <${Field} label="Offset"><input name="offset" type="number" min="0" disabled=${to !== "offset"} defaultValue=${shown ? shown.offset + shown.lag : 0} /><//>
      ${to === "time" && html`<${Field} label="Time"><input name="time" required autocomplete="off" placeholder="-5m, or 2026-01-31 14:00" /><//>`}
    </div><//>`;
}

const COLUMNS = (cluster) => [
  { key: "topic", title: "Topic", width: "minmax(90px, 1fr)", sort: (row) => row.topic, cell: (row) => html`<a href=${href(cluster, "topics", row.topic)}>${row.topic}</a>` },
  { key: "partition", title: "Partition", width: "84px", align: "end", sort: (row) => row.partition, cell: (row) => row.partition },
  { key: "offset", title: "Committed", width: "minmax(84px, 120px)", align: "end", sort: (row) => row.offset, cell: (row) => (row.offset === null ? html`<span class="soft">never</span>` : number(row.offset)) },
  { key: "end", title: "End", wide: true, width: "120px", align: "end", cell: (row) => (row.offset === null ? "–" : number(row.offset + row.lag)) },
  { key: "lag", title: "Lag", width: "minmax(60px, 110px)", align: "end", sort: (row) => row.lag, cell: (row) => (row.lag ? html`<b>${number(row.lag)}</b>` : number(row.lag)) },
  { key: "member", title: "Member", wide: true, width: "minmax(120px, 1.5fr)", sort: (row) => row.member && nameOf(row.member), cell: (row) => (row.member ? html`<span class="mono">${nameOf(row.member)}</span>` : html`<span class="soft">no member</span>`) },
];

export function Group({ cluster, route }) {
  const { data: group, error, again } = usePoll(at(cluster, "groups", route.name));
  const history = useLag(cluster, group);
  const columns = useMemo(() => COLUMNS(cluster), [cluster]);
  const last = useRef(null);
  last.current = group || last.current;
  const up = { title: "Groups", href: href(cluster, "groups") };
  if (!group) return html`<${Head} title=${route.name} up=${up} /><${Waiting} error=${error} />`;
  const rows = rowsOf(group);
  const topics = [...history.values.keys()].slice(0, TONES.length);
  const rebalance = () => attempt(() => ask("POST", at(cluster, "groups", group.id, "rebalance"), {}), "A rebalance has begun").then(again);
  const remove = async () => {
    const done = await attempt(() => ask("DELETE", at(cluster, "groups", group.id)), `Group ${group.id} is gone`);
    if (done) go(href(cluster, "groups"));
  };
  return html`
    <${Head} title=${group.id} up=${up} badge=${html`<${Badge} tone=${stateTone(group.state)}>${group.state}<//>`}>
      <${Seek} cluster=${cluster} group=${group} again=${again} />
      <${Button} onClick=${rebalance} disabled=${!group.members.length}>Rebalance<//>
      <${Asking} label="Delete" title=${`Delete group ${group.id}?`} text="Its offsets are forgotten." onSubmit=${remove} />
    <//>
    <${Facts} facts=${[
      ["Protocol", group.type],
      [group.type === "classic" ? "Generation" : "Epoch", number(group.generation)],
      ["Members", number(group.members.length)],
      ["Lag", number(lagOf(group))],
      ["Partitions", number(rows.length)],
    ]} />
    <${Plot} title="Lag" times=${history.times} format=${short} series=${topics.map((name, i) => ({ name, tone: TONES[i], values: history.of(name) }))} />
    <${Members} cluster=${cluster} group=${group} again=${again} />
    <section class="section"><h2>Partitions</h2>
      ${rows.length
        ? html`<${Grid} label="Partitions of the group" columns=${columns} rows=${rows} keyOf=${(row) => `${row.topic}-${row.partition}`} most=${14} main=${false} sorted=${{ key: "topic" }} />`
        : html`<p class="soft">It has no partitions and no offsets.</p>`}
    </section>`;
}
