// Reads the files of a zip archive: stored or deflated, as a trace has them.

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const END_BYTES = 22;
const MOST_COMMENT_BYTES = 65_535;

async function inflated(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function endOf(view) {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - MOST_COMMENT_BYTES); at -= 1) {
    if (view.getUint32(at, true) === END) return at;
  }
  throw new Error("this is no zip archive");
}

/** The text of each file by its name. Rejects with an Error for what is no zip archive. */
export async function unzipped(buffer) {
  const view = new DataView(buffer);
  if (view.byteLength < END_BYTES) throw new Error("this is no zip archive");
  const end = endOf(view);
  const names = new TextDecoder();
  const files = {};
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (view.getUint32(at, true) !== ENTRY) throw new Error("the archive is damaged");
    const method = view.getUint16(at + 10, true);
    const packed = view.getUint32(at + 20, true);
    const [nameBytes, extraBytes, noteBytes] = [28, 30, 32].map((each) => view.getUint16(at + each, true));
    const local = view.getUint32(at + 42, true);
    const name = names.decode(new Uint8Array(buffer, at + 46, nameBytes));
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const data = new Uint8Array(buffer, start, packed);
    if (method !== 0 && method !== 8) throw new Error(`${name} is packed in a way that is not known here`);
    files[name] = names.decode(method === 8 ? await inflated(data) : data);
    at += 46 + nameBytes + extraBytes + noteBytes;
  }
  return files;
}

/** The values of a file with one JSON value a line. */
export function lines(text = "") {
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
}
