// The verbs over HTTP. The token came in the URL's fragment and stays in this tab.

const KEPT_AS = "kafkalite.token";
const listeners = new Set();

// "ok", "unauthorized" or "lost": what became of the last request.
let state = "ok";

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "refused");
    this.code = problem.code;
    this.hint = problem.hint;
    this.status = problem.status;
  }
}

/** Take the token out of the address, which others may see, and remember it. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.replace(/^#/, ""));
  const token = given.get("token");
  if (token) {
    keepToken(token);
    history.replaceState(null, "", `${location.pathname}#${given.get("to") || "/"}`);
  }
  if (sessionStorage.getItem(KEPT_AS) === null) state = "unauthorized";
}

export function keepToken(token) {
  sessionStorage.setItem(KEPT_AS, token);
  become("ok");
}

/** Call `heard(state)` whenever the broker goes or comes back; gives a function that ends it. */
export function onState(heard) {
  listeners.add(heard);
  return () => listeners.delete(heard);
}

function become(next) {
  if (next !== state) {
    state = next;
    for (const heard of listeners) heard(state);
  }
}

export function connectionState() {
  return state;
}

function query(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

async function send(method, path, fields, signal) {
  const hasBody = method === "POST" || method === "PUT";
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT_AS) || ""}` };
  if (hasBody) headers["Content-Type"] = "application/json";
  const url = `/v1${path}${hasBody ? "" : query(fields)}`;
  const body = hasBody ? JSON.stringify(fields) : undefined;
  try {
    return await fetch(url, { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (error.name !== "AbortError") become("lost");
    throw error;
  }
}

/** Do a verb. Rejects with Refused, or TypeError when the broker is not there. */
export async function ask(method, path, fields = {}, signal = undefined) {
  const response = await send(method, path, fields, signal);
  const answer = await response.json();
  become(response.status === 401 ? "unauthorized" : "ok");
  if (!response.ok) throw new Refused(answer);
  return answer;
}

/** Hear a stream's messages, some at a time, until it ends or `signal` aborts it. Rejects as `ask`. */
export async function follow(path, fields, signal, heard) {
  const response = await send("GET", path, fields, signal);
  become(response.status === 401 ? "unauthorized" : "ok");
  if (!response.ok) throw new Refused(await response.json());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    const lines = events.flatMap((event) => event.split("\n")).filter((line) => line.startsWith("data: "));
    if (lines.length) heard(lines.map((line) => JSON.parse(line.slice("data: ".length))));
  }
}

/** The bytes that a verb answers with: an archive. */
export async function download(path) {
  const response = await send("GET", path, {});
  if (!response.ok) throw new Refused(await response.json());
  return response.blob();
}

/** A path below a cluster: at("default", "topics", "a/b") escapes what must be. */
export function at(cluster, ...parts) {
  return ["/clusters", cluster, ...parts].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");
}
