import type { Random } from "../random.ts";

/** One request of a client, and the behaviour of its sandbox. */
export interface Script {
  readonly id: number;
  readonly kind: "plain" | "upgrade";
  /** The request as the client sends it. */
  readonly request: Buffer;
  /** The part of the request that the sandbox receives after its head, byte for byte. */
  readonly requestBody: Buffer;
  /** The response as the sandbox sends it; in an upgrade, with the data of the new protocol. */
  readonly response: Buffer;
  /** The body that the client must read, or the data that a tunnel sends to it. */
  readonly responseBody: Buffer;
  /** The sandbox answers as soon as it has the head. */
  readonly isEarly: boolean;
  /** The sandbox reads the whole request, also after its response. */
  readonly readsRest: boolean;
  /** What the sandbox does after its response. */
  readonly afterwards: "stays" | "ends" | "resets";
  /** The number of response bytes after which the sandbox cuts; undefined: it does not. */
  readonly cutAt: number | undefined;
  readonly minorVersion: 0 | 1;
}

/** Numbers that differ by position, so that a misplaced byte is detected. */
const pattern = Buffer.allocUnsafe(1_048_576);
for (let at = 0; at < pattern.length; at += 4) pattern.writeUInt32LE(Math.imul(at + 1, 0x9e3779b1) >>> 0, at);

const sizes = [0, 1, 700, 5_000, 16_384, 20_000, 40_000, 130_000, 200_000, 300_000] as const;
/** More than the read buffer of a socket, with all positions of an end in it. */
const large = [90_000, 150_000, 200_000, 260_000, 300_000, 420_000] as const;

/** The style of most requests of a schedule, so that each rare style is common in some schedules. */
export const themes = ["anything", "large downloads", "early answers", "upgrades"] as const;
export type Theme = (typeof themes)[number];

function bodyOf(random: Random, choices: readonly number[] = sizes): Buffer {
  const length = random.pick(choices);
  const from = random.below((pattern.length - length) >> 2) * 4;
  return pattern.subarray(from, from + length);
}

function chunked(body: Buffer, random: Random): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const length = Math.min(body.length - at, 1 + random.below(60_000));
    parts.push(Buffer.from(`${length.toString(16)}\r\n`), body.subarray(at, at + length), Buffer.from("\r\n"));
    at += length;
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

const withHead = (lines: readonly string[], body: Buffer) =>
  Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);

/** A request with or without a body, and one of the possible responses. `isLast`: nothing follows on its connection. */
export function plainScript(id: number, random: Random, isLast: boolean, theme: Theme): Script {
  const hasBody = theme === "early answers" || (theme !== "large downloads" && random.once(2));
  const body = hasBody ? bodyOf(random, theme === "early answers" ? large : sizes) : Buffer.alloc(0);
  const inChunks = hasBody && random.once(3);
  const requestBody = inChunks ? chunked(body, random) : body;
  const length = inChunks ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`;
  const minorVersion = isLast && !inChunks && random.once(6) ? 0 : 1;
  const first = `${hasBody ? "POST" : "GET"} /${id} HTTP/1.${minorVersion}`;
  const request = withHead([first, "Host: nova", ...(hasBody ? [length] : [])], requestBody);
  const isEarly = hasBody && (theme === "early answers" || random.once(3));
  const framing = random.pick(["length", "length", "length", "length", "chunked", "close"] as const);
  const responseBody = bodyOf(random, theme === "large downloads" || theme === "early answers" ? large : sizes);
  const keepAlive = random.once(2) ? ["Keep-Alive: timeout=60"] : [];
  const head = ["HTTP/1.1 200 OK", ...keepAlive, `X-Id: ${id}`];
  if (framing === "length") head.push(`Content-Length: ${responseBody.length}`);
  if (framing === "chunked") head.push("Transfer-Encoding: chunked");
  const closes = framing === "close" ? "ends" : "stays";
  const afterwards = isEarly && framing !== "close" && random.once(2) ? "resets" : closes;
  // A connection goes on only if the rest of its request is read, or not wanted.
  const readsRest = afterwards === "stays" || (afterwards === "ends" && (!isLast || random.once(2)));
  if (afterwards === "resets") head.push("Connection: close");
  const response = withHead(head, framing === "chunked" ? chunked(responseBody, random) : responseBody);
  const cutAt = random.once(12) ? random.below(response.length) : undefined;
  return {
    ...{ id, kind: "plain", request, requestBody, response, responseBody },
    ...{ isEarly, readsRest, afterwards, cutAt, minorVersion },
  };
}

/** A request for another protocol, and the data that its client sends at once in that protocol. */
export function upgradeScript(id: number, random: Random): Script {
  const requestBody = bodyOf(random);
  const responseBody = bodyOf(random);
  const lines = [`GET /${id} HTTP/1.1`, "Host: nova", "Connection: Upgrade", "Upgrade: tcp"];
  const switched = ["HTTP/1.1 101 Go", "Connection: Upgrade", "Upgrade: tcp"];
  return {
    ...{ id, kind: "upgrade", requestBody, responseBody, minorVersion: 1 },
    request: withHead(lines, requestBody),
    response: withHead(switched, responseBody),
    ...{ isEarly: true, readsRest: false, afterwards: random.once(8) ? "resets" : "ends", cutAt: undefined },
  };
}
