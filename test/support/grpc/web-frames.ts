/** A message of gRPC, as it is on the wire in both forms. */
export function messageFrame(text: string, flag = 0): Buffer {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(text, "latin1"));
  bytes[0] = flag;
  bytes.writeUInt32BE(bytes.length - 5, 1);
  bytes.write(text, 5, "latin1");
  return bytes;
}

export interface WebBody {
  readonly messages: readonly string[];
  /** The lines of the last frame; undefined without one. */
  readonly trailers: Readonly<Record<string, string>> | undefined;
  /** Whether nothing is left behind the last frame. */
  readonly isWhole: boolean;
}

/** Reads the body of a response, one character per byte. `isText`: it is in base64, with padding anywhere. */
export function webBodyOf(body: string, isText = false): WebBody {
  const bytes = isText ? Buffer.concat(quadsOf(body)) : Buffer.from(body, "latin1");
  const messages: string[] = [];
  let trailers: WebBody["trailers"];
  let at = 0;
  while (at + 5 <= bytes.length) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    const text = bytes.toString("latin1", at + 5, end);
    if (bytes[at] === 0x80) trailers = fieldsOf(text);
    else messages.push(text);
    at = end;
  }
  return { messages, trailers, isWhole: at === bytes.length };
}

const quadsOf = (text: string) => (text.match(/.{1,4}/gs) ?? []).map((quad) => Buffer.from(quad, "base64"));

function fieldsOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\r\n").filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
}
