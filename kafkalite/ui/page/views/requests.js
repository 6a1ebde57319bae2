// What clients asked of the broker, as it comes. The spy keeps it, once it was switched on.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, at, download } from "../api.js";
import { bytes, many } from "../format.js";
import { html } from "../html.js";
import { usePoll, useRepeatedly } from "../poll.js";
import { attempt, Badge, Button, Empty, Head, Waiting } from "../widgets.js";
import { Conversation } from "./conversation.js";
import { marksOf } from "./marks.js";

const EVERY_MS = 700;
const AT_ONCE = 2000;
// The page keeps no more: the oldest are dropped from it.
const MOST = 20_000;
// Those that wait for their answers are asked for one by one, in each third turn.
const MOST_WAITING = 10;
const WAITING_TURNS = 3;

/** What comes after what is there; `list(after)` asks for it. */
async function arriving(path, after, signal) {
  const fields = after === 0 ? { limit: AT_ONCE } : { after, limit: AT_ONCE };
  return ask("GET", path, fields, signal);
}

function useEntries(cluster, isPaused) {
  const [entries, setEntries] = useState([]);
  const [events, setEvents] = useState([]);
  const last = useRef({ request: 0, event: 0, waiting: [], turn: 0 });
  useEffect(() => {
    last.current = { request: 0, event: 0, waiting: [], turn: 0 };
    setEntries([]);
    setEvents([]);
  }, [cluster]);
  useRepeatedly(
    async (signal) => {
      if (isPaused) return;
      const seen = last.current;
      const fresh = await arriving(at(cluster, "requests"), seen.request, signal);
      seen.turn += 1;
      const waited = seen.turn % WAITING_TURNS ? [] : seen.waiting.slice(0, MOST_WAITING);
      const answered = await Promise.all(
        waited.map((seq) => ask("GET", at(cluster, "requests", seq), {}, signal).catch(() => null)),
      );
      const changes = await arriving(at(cluster, "events"), seen.event, signal);
      if (signal.aborted) return;
      const done = new Map(answered.filter((each) => each && each.outcome !== "waiting").map(({ request, answer, ...each }) => [each.seq, each]));
      const gone = new Set(waited.filter((_, i) => answered[i] === null || done.has(answered[i]?.seq)));
      seen.waiting = [...seen.waiting.filter((seq) => !gone.has(seq)), ...fresh.filter((each) => each.outcome === "waiting").map((each) => each.seq)];
      if (fresh.length) seen.request = fresh.at(-1).seq;
      if (changes.length) seen.event = changes.at(-1).seq;
      if (fresh.length || done.size) setEntries((old) => [...(done.size ? old.map((each) => done.get(each.seq) || each) : old), ...fresh].slice(-MOST));
      if (changes.length) setEvents((old) => [...old, ...changes].slice(-MOST));
    },
    [cluster, isPaused],
    EVERY_MS,
  );
  const forget = () => {
    setEntries([]);
    setEvents([]);
  };
  return { entries, events, forget };
}

function useDecodedIn(cluster) {
  return (entry) => {
    const [seen, setSeen] = useState({});
    const isWaiting = entry?.outcome === "waiting";
    useEffect(() => {
      if (!entry) return undefined;
      const leaving = new AbortController();
      setSeen({});
      ask("GET", at(cluster, "requests", entry.seq), {}, leaving.signal)
        .then((decoded) => setSeen({ seq: entry.seq, decoded }))
        .catch((error) => leaving.signal.aborted || setSeen({ seq: entry.seq, error }));
      return () => leaving.abort();
    }, [cluster, entry?.seq, isWaiting]);
    return seen.seq === entry?.seq ? seen : {};
  };
}

export function Requests({ cluster, route }) {
  const spy = usePoll(at(cluster, "spy"), {}, 2000);
  const [isPaused, setPaused] = useState(false);
  const { entries, events, forget } = useEntries(cluster, isPaused);
  const marks = useMemo(() => marksOf(events), [events]);
  const useDecoded = useDecodedIn(cluster);
  if (!spy.data) return html`<${Head} title="Requests" /><${Waiting} error=${spy.error} />`;
  const isOff = spy.data.mode === "off";
  const set = async (mode) => {
    await attempt(() => ask("PUT", at(cluster, "spy"), { mode }), mode === "off" ? "No more requests are kept" : "Requests are kept from now on");
    spy.again();
  };
  const clear = async () => {
    await attempt(() => ask("DELETE", at(cluster, "requests")), "They are forgotten");
    forget();
    spy.again();
  };
  const trace = async () => {
    const file = await attempt(() => download(at(cluster, "trace")));
    if (!file) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "trace.zip";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const fault = (rule) => attempt(() => ask("POST", at(cluster, "faults"), rule), (view) => `Fault ${view.rule.id} is in: ${rule.when.api}, the next one`);
  return html`
    <${Head} title="Requests" badge=${html`<${Badge} tone=${isOff ? "" : "ok"}>${isOff ? "not kept" : `keeping, ${bytes(spy.data.used_bytes)} of ${bytes(spy.data.bytes)}`}<//>`}>
      ${isOff ? html`<${Button} kind="primary" onClick=${() => set("on")}>Keep requests<//>` : html`<${Button} onClick=${() => set("off")}>Stop keeping<//>`}
      <${Button} onClick=${clear} disabled=${!entries.length}>Clear<//>
      <${Button} onClick=${trace} title="All that is kept, as a file that this page opens">Save trace<//>
    <//>
    ${entries.length
      ? html`<${Conversation} entries=${entries} marks=${marks} query=${route.query} useDecoded=${useDecoded} onFault=${fault} isLive=${!isPaused}>
          <${Button} kind=${isPaused ? "" : "on"} aria-pressed=${!isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? "Go on" : "Pause"}<//>
        <//>`
      : html`<${Empty} title=${isOff ? "Requests are not kept yet" : "No request has come yet"}>${isOff
          ? "The spy costs a few microseconds a request, so it is off until it is wanted."
          : `${many(spy.data.events, "event")} so far.`}<//>`}`;
}
