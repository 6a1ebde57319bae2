// Events as marks on the timeline: what changed while requests came and went.

const TONES = [
  [/^fault/, "fault"],
  [/^clock/, "accent"],
  [/^(group|member|rebalance)/, "warn"],
  [/^node|^leader/, "bad"],
  [/^transaction|^producer/, "fault"],
  [/^cluster/, "bad"],
];

/** Connections come and go with every client: their lanes say it already. */
const UNMARKED = /^connection|^offsets|^segment/;

export function marksOf(events) {
  return events
    .filter((event) => !UNMARKED.test(event.kind))
    .map((event) => ({
      at: event.at_ms,
      tone: TONES.find(([kind]) => kind.test(event.kind))?.[1] || "soft",
      text: [event.kind.replaceAll(/[._]/g, " "), Object.values(event.about)[0]].filter((part) => part !== undefined).join(" "),
      why: event.why,
      // The bars of requests that met a fault say it themselves.
      isLine: event.kind !== "fault.applied",
    }));
}
