/**
 * A Kafka cluster of each test's own, with faults, time, state and waiting.
 *
 *     const k = useKafkalite({ beforeEach, afterEach });   // of node:test, Vitest or Jest
 *
 * `import` and `require` take it alike.
 *
 * The broker is found by KAFKALITE_URL and KAFKALITE_TOKEN, or by the ready file that
 * KAFKALITE_READY_FILE names. Paths are those of /v1/openapi.json below the cluster.
 */
const { readFileSync } = require("node:fs");

function find() {
  const { KAFKALITE_URL: url, KAFKALITE_TOKEN: token, KAFKALITE_READY_FILE: ready } = process.env;
  if (url) return { url, token };
  if (!ready) {
    throw new Error("no broker: run the suite by `kafkalite run -- npm test`, or set KAFKALITE_READY_FILE");
  }
  return JSON.parse(readFileSync(ready, "utf8")).control;
}

class Cluster {
  constructor() {
    Object.assign(this, find(), { name: "default", bootstrap: "" });
  }

  /** Make the cluster, by the fields of POST /v1/clusters: nodes, configs, snapshot. */
  async begin(made = {}) {
    const { name, bootstrap } = await this.exchange("POST", "/v1/clusters", made);
    Object.assign(this, { name, bootstrap });
  }

  /** End the cluster. A fault that was never applied is an error. */
  async end() {
    const { unfired } = await this.get("/unfired-faults");
    await this.exchange("DELETE", `/v1/clusters/${this.name}`);
    if (unfired.length) throw new Error(unfired.join("; "));
  }

  get(path) {
    return this.exchange("GET", `/v1/clusters/${this.name}${path}`);
  }

  post(path, fields = {}) {
    return this.exchange("POST", `/v1/clusters/${this.name}${path}`, fields);
  }

  put(path, fields = {}) {
    return this.exchange("PUT", `/v1/clusters/${this.name}${path}`, fields);
  }

  /** Put a fault in: `{ when: ..., do: [...] }`. */
  fault(rule) {
    return this.post("/faults", rule);
  }

  /** Move the cluster's time on; what this brought about. */
  advance(by) {
    return this.post("/clock/advance", { by });
  }

  /** Wait for a condition; the error says what is missing. */
  async wait(until, timeout = "30s") {
    const waited = await this.post("/wait", { until, timeout });
    if (!waited.met) throw new Error(waited.because);
    return waited;
  }

  async exchange(method, path, fields) {
    const headers = { Authorization: `Bearer ${this.token}` };
    if (fields) headers["Content-Type"] = "application/json";
    const body = fields && JSON.stringify(fields);
    const answer = await fetch(this.url + path, { method, headers, body });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail);
    return told;
  }
}

/** A cluster for each test between the hooks of a test runner. */
function useKafkalite({ beforeEach, afterEach }, made = {}) {
  const cluster = new Cluster();
  beforeEach(() => cluster.begin(made));
  afterEach(() => cluster.end());
  return cluster;
}

module.exports = { Cluster, useKafkalite };
