import { describe, expect, it } from "vitest";
import { corpus } from "../../test/http1/corpus.ts";
import { generate, mutate } from "../../test/http1/generate.ts";
import { Random } from "../../test/http1/random.ts";
import { type Message, readWire, WireReader } from "../../test/http1/wire-reader.ts";
import { openBackend, openProxyPath, type ProxyPath, say } from "../../test/support/proxy-path.ts";
import { requestHeadLimits } from "./parse/request-head-parser.ts";

const seed = 20_260_102;
const streams = 4_000;

interface Seen {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  readonly trailers: readonly string[];
}

const essence = ({ method, target, body, trailers }: Message): Seen => ({
  ...{ method, body, trailers },
  target: originForm(method, target),
});

/** A sandbox is asked for a path, in whatever form the client named it, or for `*` (RFC 9112, 3.2.1 and 3.2.4). */
function originForm(method: string, target: string): string {
  const path = /^https?:\/\/[^/?]*(.*)$/i.exec(target)?.[1];
  if (path === "" && method === "OPTIONS") return "*";
  return path?.replace(/^(?!\/)/, "/") ?? target;
}

/** A strict reader behind the carrier; it answers each request with what identifies it. */
async function openReporting(seen: Seen[], refusals: string[]) {
  return openBackend((socket) => {
    const reader = new WireReader("request");
    let answered = 0;
    socket.on("data", (bytes: Buffer) => {
      reader.push(bytes);
      for (const message of reader.messages.slice(answered)) {
        answered += 1;
        seen.push(essence(message));
        const body = message.method === "HEAD" ? "" : message.target;
        socket.write(
          `HTTP/1.1 200 OK\r\nX-Saw: ${message.target}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          "latin1",
        );
      }
      if (reader.refusal === undefined) return;
      refusals.push(reader.refusal);
      socket.destroy();
    });
    socket.on("end", () => socket.end());
  });
}

/** The requests of a stream that are proxied: those up to the first that ends the connection or is refused. */
function carriedOf(wire: string): readonly Seen[] {
  const { messages } = readWire("request", Buffer.from(wire, "latin1"));
  const stop = messages.findIndex(
    ({ method, fields, minorVersion }) => method === "CONNECT" || (minorVersion === 1 && expectsMiracles(fields)),
  );
  return (stop < 0 ? messages : messages.slice(0, stop)).map(essence);
}

/** An offer to upgrade beside a body is not taken, and the connection goes on; who reads the wire alone stops there. */
function ignoresUpgrade(wire: string): boolean {
  const last = readWire("request", Buffer.from(wire, "latin1")).messages.at(-1);
  const names = last?.fields.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()) ?? [];
  return last?.asksUpgrade === true && (names.includes("content-length") || names.includes("transfer-encoding"));
}

function expectsMiracles(fields: readonly string[]): boolean {
  const values = fields.flatMap((field, at) =>
    at % 2 === 0 && field.toLowerCase() === "expect" ? [fields[at + 1] ?? ""] : [],
  );
  return values.length > 0 && values.join(", ").toLowerCase() !== "100-continue";
}

/** With what the carrier adds to them they are more than the back-end takes. */
const fullHeads: ReadonlySet<string> = new Set(["as many fields as fit", "a head that just fits"]);

describe("front, proxy and a strict backend", () => {
  async function compare(proxyPath: ProxyPath, seen: Seen[], wire: string, about: string) {
    seen.length = 0;
    // What is cut off is never whole, so that the end of the client's side ends every stream.
    const heard = await say(proxyPath.port, wire, "end");
    const expected = carriedOf(wire);
    expect(ignoresUpgrade(wire) ? seen.slice(0, expected.length) : seen, about).toEqual(expected);
    expect(heard.match(/^X-Saw: /gm)?.length ?? 0, about).toBeLessThanOrEqual(seen.length);
  }

  it("see the same requests in every case of the corpus, each once, in order and with its own body", async () => {
    const [seen, refusals]: [Seen[], string[]] = [[], []];
    await using backend = await openReporting(seen, refusals);
    await using proxyPath = await openProxyPath(backend.port, { maxHeaderBytes: requestHeadLimits.sectionBytesMax });
    const cases = corpus
      .filter(({ side }) => side === "request")
      .flatMap(({ cases }) => cases.filter(({ name }) => !fullHeads.has(name)));
    for (const { name, wire } of cases) await compare(proxyPath, seen, wire, name);
    expect(refusals).toEqual([]);
    await proxyPath.empty();
  });

  it(`see the same requests in ${streams} generated and mutated streams of seed ${seed}`, async () => {
    const [seen, refusals]: [Seen[], string[]] = [[], []];
    await using backend = await openReporting(seen, refusals);
    await using proxyPath = await openProxyPath(backend.port, { maxHeaderBytes: requestHeadLimits.sectionBytesMax });
    const random = new Random(seed);
    for (let at = 0; at < streams; at += 1) {
      const wire = random.once(2) ? generate(random, "request") : mutate(random, "request");
      await compare(proxyPath, seen, wire, `stream ${at} of seed ${seed}: ${JSON.stringify(wire)}`);
    }
    expect(refusals).toEqual([]);
    await proxyPath.empty();
  }, 60_000);
});
