import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { WatchEvent } from "./client.ts";
import { ApiUnreachable } from "./errors.ts";
import { parseWatch } from "./watch-lines.ts";

async function* chunksOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

const parse = (...chunks: (string | Uint8Array)[]): Promise<WatchEvent<KubeObject>[]> =>
  Array.fromAsync(parseWatch(chunksOf(...chunks)));

const added = { type: "ADDED", object: { metadata: { name: "größe-🦔" } } };
const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "7" } } };
const body = Buffer.from(`${JSON.stringify(added)}\n${JSON.stringify(bookmark)}\n`);

describe("the body of a watch", () => {
  it("gives the same events wherever its bytes are split, within a character too", async () => {
    for (let at = 0; at <= body.length; at += 1) {
      expect(await parse(body.subarray(0, at), body.subarray(at))).toEqual([added, bookmark]);
    }
  });

  it("gives the same events when it comes byte by byte", async () => {
    expect(await parse(...[...body].map((byte) => Uint8Array.of(byte)))).toEqual([added, bookmark]);
  });

  it("ends without an event and without an error when it is empty", async () => {
    expect(await parse()).toEqual([]);
  });

  it("yields an event as soon as its line is complete", async () => {
    const never = async function* () {
      yield body;
      await new Promise(() => {});
    };
    const events = parseWatch(never());
    expect((await events.next()).value).toEqual(added);
    expect((await events.next()).value).toEqual(bookmark);
  });

  it.each([
    { what: "does not parse", line: "{\n" },
    { what: "is blank", line: "\n" },
    { what: "has an unknown type", line: '{"type":"RENAMED","object":{}}\n' },
    { what: "has no object", line: '{"type":"ADDED"}\n' },
    { what: "is no object", line: "null\n" },
    { what: "is not UTF-8", line: Buffer.from([0x22, 0xff, 0x22, 0x0a]) },
    { what: "was cut off by the end", line: '{"type":"ADDED","obj' },
  ])("fails, after the events before it, when a line $what", async ({ line }) => {
    const events = parseWatch(chunksOf(`${JSON.stringify(added)}\n`, line));
    expect((await events.next()).value).toEqual(added);
    await expect(events.next()).rejects.toThrow(ApiUnreachable);
  });

  it("is refused once a line is longer than allowed, before the line has ended", async () => {
    const endless = async function* () {
      for (;;) yield Buffer.alloc(10, "x");
    };
    await expect(parseWatch(endless(), { lineMax: 100 }).next()).rejects.toThrow("more than 100 bytes");
  });
});
