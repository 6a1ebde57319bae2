// Polling that costs the broker nothing while the tab is hidden, and little while it is seen.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./api.js";

const EVERY_MS = 1000;
// An answer that took long is not asked for again before ten times as long has passed.
const SHARE = 10;

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

function untilSeen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const changed = () => { if (!document.hidden || signal.aborted) done(); };
    const done = () => { document.removeEventListener("visibilitychange", changed); resolve(); };
    document.addEventListener("visibilitychange", changed);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Run `follow(signal)` while the tab is seen, and a moment later again if it ended by itself. */
export function useWhileSeen(follow, deps) {
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    (async () => {
      while (!signal.aborted) {
        await untilSeen(signal);
        if (signal.aborted) return;
        const seen = new AbortController();
        const stop = () => seen.abort();
        const hidden = () => document.hidden && stop();
        document.addEventListener("visibilitychange", hidden);
        signal.addEventListener("abort", stop, { once: true });
        await follow(seen.signal).catch(() => {});
        document.removeEventListener("visibilitychange", hidden);
        signal.removeEventListener("abort", stop);
        if (!document.hidden) await pause(EVERY_MS, signal);
      }
    })();
    return () => leaving.abort();
  }, deps);
}

/** Run `step(signal)` again and again until the view is left. */
export function useRepeatedly(step, deps, every = EVERY_MS) {
  const wake = useRef(() => {});
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    (async () => {
      while (!signal.aborted) {
        await untilSeen(signal);
        if (signal.aborted) return;
        const began = performance.now();
        await step(signal).catch(() => {});
        const rest = new AbortController();
        wake.current = () => rest.abort();
        signal.addEventListener("abort", wake.current, { once: true });
        await pause(Math.max(every, SHARE * (performance.now() - began)), rest.signal);
        signal.removeEventListener("abort", wake.current);
      }
    })();
    return () => leaving.abort();
  }, deps);
  return () => wake.current();
}

/** The answer to a GET, kept fresh: { data, error, again }. */
export function usePoll(path, fields = {}, every = EVERY_MS) {
  const [seen, setSeen] = useState({ path: "", data: undefined, error: undefined });
  const asked = path && path + JSON.stringify(fields);
  const again = useRepeatedly(
    async (signal) => {
      if (!path) return;
      try {
        const data = await ask("GET", path, fields, signal);
        if (!signal.aborted) setSeen({ path: asked, data, error: undefined });
      } catch (error) {
        if (signal.aborted) return;
        setSeen((before) => ({ path: asked, data: before.path === asked ? before.data : undefined, error }));
      }
    },
    [asked, every],
    every,
  );
  const isOld = seen.path !== asked;
  return { data: isOld ? undefined : seen.data, error: isOld ? undefined : seen.error, again };
}
