// Numbers, sizes and times as people read them.

const WHOLE = new Intl.NumberFormat("en-US");
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const UNITS = ["B", "KB", "MB", "GB", "TB"];

export const number = (value) => (value === null || value === undefined ? "–" : WHOLE.format(value));
export const short = (value) => (Math.abs(value) < 1000 ? String(Math.round(value * 10) / 10) : SHORT.format(value));
export const many = (count, word, words = `${word}s`) => `${number(count)} ${count === 1 ? word : words}`;

export function bytes(value) {
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit && size < 10 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`;
}

export function duration(ms) {
  const sign = ms < 0 ? "−" : "";
  const value = Math.abs(ms);
  if (value < 1000) return `${sign}${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ms`;
  if (value < 120_000) return `${sign}${(value / 1000).toFixed(1)} s`;
  const minutes = Math.round(value / 60_000);
  if (minutes < 120) return `${sign}${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${sign}${hours} h ${minutes % 60} min`;
  return `${sign}${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const two = (value, digits = 2) => String(value).padStart(digits, "0");

export function clock(ms) {
  const at = new Date(ms);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return `${time}.${two(at.getMilliseconds(), 3)}`;
}

export function day(ms) {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** A time of today without its day. */
export function when(ms, now = Date.now()) {
  if (ms < 0) return "–";
  return day(ms) === day(now) ? clock(ms) : `${day(ms)} ${clock(ms).slice(0, 8)}`;
}

/** "0-3, 5" for [0, 1, 2, 3, 5]. */
export function ranges(numbers) {
  const parts = [];
  for (const each of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && last[1] === each - 1) last[1] = each;
    else parts.push([each, each]);
  }
  return parts.map(([first, end]) => (first === end ? `${first}` : `${first}–${end}`)).join(", ");
}

/** An id as Kafka's tools write it: 22 letters and digits for the bytes of a UUID. */
export function kafkaId(uuid) {
  const hex = uuid.replaceAll("-", "").match(/../g);
  const coded = btoa(String.fromCharCode(...hex.map((each) => Number.parseInt(each, 16))));
  return coded.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** A time as people write it: "-5m", or a date with or without a time. */
export function timeOf(text) {
  if (text.startsWith("-")) return text;
  const ms = /^\d{10,}$/.test(text) ? Number(text) : Date.parse(text.trim().replace(" ", "T"));
  return Number.isNaN(ms) ? undefined : ms;
}
