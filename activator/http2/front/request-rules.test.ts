import { describe, expect, it } from "vitest";
import { Random } from "../../../test/http1/random.ts";
import { type Message, WireReader } from "../../../test/http1/wire-reader.ts";
import {
  endsStream,
  type FrameClient,
  flag,
  frame,
  frameOf,
  headersOf,
  openFrameClient,
} from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const seed = 20_261_123;
const generatedStreams = 1_500;

type Fields = readonly (readonly [name: string, value: string])[];

const request = ({
  method = ":method|GET",
  scheme = ":scheme|http",
  authority = ":authority|nova.test",
  path = ":path|/x",
} = {}): Fields =>
  [method, scheme, authority, path]
    .filter((field) => field !== "")
    .map((field) => {
      const at = field.indexOf("|");
      return [field.slice(0, at), field.slice(at + 1)] as const;
    });

/** Requests that no back-end may see. */
const forbidden: readonly { readonly name: string; readonly fields: Fields; readonly body?: string }[] = [
  { name: "a line break in a value", fields: [...request(), ["x-a", "1\r\nx-b: 2"]] },
  { name: "a bare line feed in a value", fields: [...request(), ["x-a", "1\nx-b: 2"]] },
  { name: "a bare carriage return in a value", fields: [...request(), ["x-a", "1\rx"]] },
  { name: "a NUL in a value", fields: [...request(), ["x-a", "1\0"]] },
  { name: "a colon in a name", fields: [...request(), ["x-a: 1", "2"]] },
  { name: "a line break in a name", fields: [...request(), ["x-a\r\nx-b", "2"]] },
  { name: "a space in a name", fields: [...request(), ["x a", "2"]] },
  { name: "a name in capitals", fields: [...request(), ["X-A", "2"]] },
  { name: "an empty name", fields: [...request(), ["", "2"]] },
  { name: "transfer-encoding", fields: [...request(), ["transfer-encoding", "chunked"]] },
  { name: "connection", fields: [...request(), ["connection", "x-forwarded-for"]] },
  { name: "keep-alive", fields: [...request(), ["keep-alive", "1"]] },
  { name: "proxy-connection", fields: [...request(), ["proxy-connection", "close"]] },
  { name: "upgrade", fields: [...request(), ["upgrade", "websocket"]] },
  { name: "http2-settings", fields: [...request(), ["http2-settings", "x"]] },
  { name: "te with a coding", fields: [...request(), ["te", "gzip"]] },
  { name: "two hosts that disagree", fields: [...request(), ["host", "other.test"]] },
  { name: "two ports that disagree", fields: [...request(), ["host", "nova.test:81"]] },
  { name: "two host fields", fields: [...request(), ["host", "nova.test"], ["host", "nova.test"]] },
  { name: "no host", fields: request({ authority: "" }) },
  { name: "a user in the authority", fields: request({ authority: ":authority|me@nova.test" }) },
  { name: "a line break in the authority", fields: request({ authority: ":authority|nova.test\r\nx: y" }) },
  { name: "a space in the path", fields: request({ path: ":path|/a b" }) },
  { name: "a version in the path", fields: request({ path: ":path|/a HTTP/1.1\r\nhost: x\r\n\r\nGET /b" }) },
  { name: "a fragment in the path", fields: request({ path: ":path|/a#b" }) },
  { name: "a whole URI as the path", fields: request({ path: ":path|http://other.test/" }) },
  { name: "a path without a slash", fields: request({ path: ":path|a" }) },
  { name: "an empty path", fields: request({ path: ":path|" }) },
  { name: "no path", fields: request({ path: "" }) },
  { name: "no method", fields: request({ method: "" }) },
  { name: "a method with a space", fields: request({ method: ":method|GET /" }) },
  { name: "a method with a line break", fields: request({ method: ":method|GET\r\n" }) },
  { name: "no scheme", fields: request({ scheme: "" }) },
  { name: "an unknown scheme", fields: request({ scheme: ":scheme|ftp" }) },
  { name: "a pseudo-header twice", fields: [...request(), [":path", "/y"]] },
  { name: "a pseudo-header behind a field", fields: [["x-a", "1"], ...request()] },
  { name: "an unknown pseudo-header", fields: [[":x", "1"], ...request()] },
  { name: "a status", fields: [[":status", "200"], ...request()] },
  { name: "a protocol without CONNECT", fields: [[":protocol", "websocket"], ...request()] },
  {
    name: "a plain CONNECT",
    fields: [
      [":method", "CONNECT"],
      [":authority", "nova.test:80"],
    ],
  },
  {
    name: "a CONNECT for another protocol",
    fields: [[":protocol", "connect-udp"], ...request({ method: ":method|CONNECT" })],
  },
  { name: "two lengths", fields: [...request(), ["content-length", "3"], ["content-length", "4"]], body: "abc" },
  {
    name: "the same length twice",
    fields: [...request(), ["content-length", "3"], ["content-length", "3"]],
    body: "abc",
  },
  { name: "a list of lengths", fields: [...request(), ["content-length", "3, 3"]], body: "abc" },
  { name: "a length with a sign", fields: [...request(), ["content-length", "+3"]], body: "abc" },
  { name: "a length without a body", fields: [...request(), ["content-length", "3"]] },
];

/** Requests whose length and body disagree: their heads may be sent on, but no body that a back-end takes for complete. */
const incomplete: readonly { readonly name: string; readonly fields: Fields; readonly body: string }[] = [
  { name: "a body beyond its length", fields: [...request(), ["content-length", "2"]], body: "abc" },
  { name: "a body short of its length", fields: [...request(), ["content-length", "4"]], body: "abc" },
  { name: "a body behind a length of zero", fields: [...request(), ["content-length", "0"]], body: "abc" },
];

/** A strict reader of HTTP/1.1 as the back-end: it answers complete requests, and keeps what it saw. */
async function openReporting(seen: Message[], refusals: string[]) {
  return openBackend((socket) => {
    const reader = new WireReader("request");
    let answered = 0;
    socket.on("data", (bytes: Buffer) => {
      reader.push(bytes);
      for (const message of reader.messages.slice(answered)) {
        answered += 1;
        seen.push(message);
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      }
      if (reader.refusal === undefined) return;
      refusals.push(reader.refusal);
      socket.destroy();
    });
    socket.on("end", () => socket.end());
  });
}

function sendRequest(client: FrameClient, stream: number, fields: Fields, body?: string): void {
  const ends = body === undefined ? flag.endStream : 0;
  client.send(headersOf(stream, fields, flag.endHeaders | ends));
  if (body === undefined) return;
  client.send(frameOf({ type: frame.data, flags: flag.endStream, stream }, Buffer.from(body, "latin1")));
}

/** Sends one request on a connection of its own, and resolves when it is answered, reset, or its connection is closed. */
async function settle(port: number, fields: Fields, body?: string): Promise<string> {
  using client = await openFrameClient(port);
  sendRequest(client, 1, fields, body);
  const end = client.until((seen) => endsStream(1)(seen) || seen.type === frame.goaway);
  const last = await end.catch(() => undefined);
  if (!last) return "closed";
  return last.type === frame.reset ? "reset" : last.type === frame.goaway ? "goaway" : "answered";
}

/** Fields that nghttp2 leaves out of a request that it otherwise serves. */
const leftOut = [
  ...[
    "a line break in a value",
    "a bare line feed in a value",
    "a bare carriage return in a value",
    "a NUL in a value",
  ],
  ...["a colon in a name", "a line break in a name", "a space in a name", "an empty name"],
];

/** A field or pseudo-header that may be anything. */
function anyField(random: Random): readonly [string, string] {
  const bad = ["\r\n", "\n", "\r", "\0", " ", ":", "\t", "\x7f", "\xff", "#", ",", "A"];
  const name = random.pick([
    ...[
      "x-a",
      "content-length",
      "transfer-encoding",
      "connection",
      "host",
      "cookie",
      "te",
      "expect",
      "trailer",
      "upgrade",
    ],
    ...[":path", ":authority", ":method", ":scheme", ":protocol", "x_forwarded_for", "keep-alive", "content_length"],
  ]);
  const value = random.pick([
    "1",
    "3",
    "chunked",
    "close",
    "nova.test",
    "other.test",
    "trailers",
    "a=b",
    "/x",
    "GET",
    "",
  ]);
  const spoil = (text: string) => {
    if (!random.once(4)) return text;
    const at = random.below(text.length + 1);
    return text.slice(0, at) + random.pick(bad) + text.slice(at);
  };
  return [spoil(name), spoil(value)];
}

function anyRequest(random: Random, id: number): { readonly fields: Fields; readonly body: string | undefined } {
  const fields = [...request({ path: `:path|/${id}` })];
  for (let more = random.below(4); more > 0; more -= 1)
    fields.splice(random.below(fields.length + 1), 0, anyField(random));
  return { fields, body: random.once(2) ? `body of ${id}` : undefined };
}

describe("a request of HTTP/2 that HTTP/1.1 could misread", () => {
  it.each(forbidden)("never reaches a sandbox: $name", async ({ name, fields, body }) => {
    const [seen, refusals]: [Message[], string[]] = [[], []];
    await using backend = await openReporting(seen, refusals);
    await using proxyPath = await openProxyPath(backend.port);
    await settle(proxyPath.port, fields, body);
    await proxyPath.empty();
    const own = seen.map(({ fields: got }) => got.filter((field, at) => at % 2 === 0 && !/^X-Forwarded-/.test(field)));
    expect(own).toEqual(leftOut.includes(name) ? [["Host", "Connection"]] : []);
    expect(refusals).toEqual([]);
  });

  it.each(incomplete)("never reaches a sandbox as complete: $name", async ({ fields, body }) => {
    const [seen, refusals]: [Message[], string[]] = [[], []];
    await using backend = await openReporting(seen, refusals);
    await using proxyPath = await openProxyPath(backend.port);
    await settle(proxyPath.port, fields, body);
    await proxyPath.empty();
    expect(seen.filter((message) => message.body !== "")).toEqual([]);
    expect(refusals).toEqual([]);
  });

  it(`never reaches a sandbox in ${generatedStreams} generated requests of seed ${seed}`, async () => {
    const [seen, refusals]: [Message[], string[]] = [[], []];
    await using backend = await openReporting(seen, refusals);
    await using proxyPath = await openProxyPath(backend.port);
    const random = new Random(seed);
    const bodies: string[] = [];
    for (let id = 0; id < generatedStreams; id += 1) {
      const { fields, body } = anyRequest(random, id);
      bodies.push(body ?? "");
      await settle(proxyPath.port, fields, body);
    }
    await proxyPath.empty();
    expect(refusals).toEqual([]);
    const ids = seen.map(({ target }) => Number(target.slice(1)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(generatedStreams / 4);
    expect(seen.map(({ body }) => body)).toEqual(ids.map((id) => bodies[id]));
    expect(seen.filter(({ fields }) => fields.some((field) => /^(transfer-encoding|upgrade)$/.test(field)))).toEqual(
      [],
    );
  }, 60_000);
});
