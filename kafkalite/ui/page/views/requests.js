// What clients asked of the broker, as it comes. The spy keeps it, once it was switched on.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, at, download, follow } from "../api.js";
import { bytes, many, number } from "../format.js";
import { html } from "../html.js";
import { usePoll, useWhileSeen } from "../poll.js";
import { attempt, Badge, Button, Empty, Head, Waiting } from "../widgets.js";
import { Conversation } from "./conversation.js";
import { marksOf } from "./marks.js";

const AT_FIRST = 2000;
// The page keeps no more: the oldest are dropped from it.
const MOST = 20_000;
// The picture begins with the last minute.
const SPAN_MS = 60_000;

/** All of them in order. One that has been answered takes its own place. */
function merged(old, fresh) {
  const news = new Map(fresh.map((each) => [each.seq, each]));
  const kept = fresh[0].seq > (old.at(-1)?.seq ?? 0) ? old : old.map((each) => {
    const answered = news.get(each.seq);
    news.delete(each.seq);
    return answered || each;
  });
  return [...kept, ...news.values()].slice(-MOST);
}

/** The last ones as a list, and from there on as they come. */
function useEntries(cluster, isPaused) {
  const [entries, setEntries] = useState([]);
  const [events, setEvents] = useState([]);
  const [missed, setMissed] = useState(0);
  const place = useRef("");
  // What was cleared is not missed.
  const isCleared = useRef(false);
  const forget = () => {
    isCleared.current = true;
    setEntries([]);
    setEvents([]);
    setMissed(0);
  };
  useEffect(() => {
    place.current = "";
    forget();
    isCleared.current = false;
  }, [cluster]);
  const take = (requests, changes) => {
    if (requests.length) setEntries((old) => merged(old, requests));
    if (changes.length) setEvents((old) => [...old, ...changes].slice(-MOST));
  };
  useWhileSeen(
    async (signal) => {
      if (isPaused) {
        await new Promise((go) => signal.addEventListener("abort", go, { once: true }));
        return;
      }
      if (!place.current) {
        const requests = await ask("GET", at(cluster, "requests"), { limit: AT_FIRST }, signal);
        const changes = await ask("GET", at(cluster, "events"), { limit: AT_FIRST }, signal);
        // Those that wait are told of again when they are answered.
        const waiting = requests.find((each) => each.outcome === "waiting");
        const last = waiting ? waiting.seq - 1 : requests.at(-1)?.seq ?? 0;
        place.current = `${last}-${changes.at(-1)?.seq ?? 0}`;
        take(requests, changes);
      }
      await follow(at(cluster, "stream"), { after: place.current, waiting: true, latest: true }, signal, (messages) => {
        place.current = messages.at(-1).id;
        take(messages.flatMap((each) => each.request || []), messages.flatMap((each) => each.event || []));
        if (!isCleared.current) setMissed((old) => messages.reduce((sum, each) => sum + (each.missed || 0), old));
        isCleared.current = false;
      });
    },
    [cluster, isPaused],
  );
  return { entries, events, missed, forget };
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
  const { entries, events, missed, forget } = useEntries(cluster, isPaused);
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
      ? html`<${Conversation} entries=${entries} marks=${marks} query=${route.query} useDecoded=${useDecoded} onFault=${fault} isLive=${!isPaused} span=${SPAN_MS}>
          ${missed > 0 && html`<${Badge} tone="warn" title="They came faster than the page takes them, so that the broker has time for others">${number(missed)} not seen<//>`}
          <${Button} kind=${isPaused ? "" : "on"} aria-pressed=${!isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? "Go on" : "Pause"}<//>
        <//>`
      : html`<${Empty} title=${isOff ? "Requests are not kept yet" : "No request has come yet"}>${isOff
          ? "“Keep requests” shows what clients send from then on. It costs a few microseconds a request, so it is off at first."
          : `${many(spy.data.events, "event")} so far.`}<//>`}`;
}
