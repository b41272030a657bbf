import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { getFields, headersOf, openFrameClient } from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { StreamTurns } from "./stream-turns.ts";

describe("streams that one read brings", () => {
  it("begin in order, sixteen in each turn of the event loop", async () => {
    const begun: number[] = [];
    const turns = new StreamTurns<number>((stream) => void begun.push(stream));
    const all = Array.from({ length: 40 }, (_, at) => at);
    for (const stream of all) turns.add(stream);
    const counts = [begun.length];
    for (let at = 0; at < 3; at += 1) {
      await turn();
      counts.push(begun.length);
    }
    expect(counts).toEqual([16, 32, 40, 40]);
    expect(begun).toEqual(all);
    turns.add(40);
    expect(begun).toHaveLength(41);
  });

  it("begin in shares also when a client sends hundreds at once, and all of them are served", async () => {
    await using backend = await openBackend(() => {});
    await using proxyPath = await openProxyPath(backend.port);
    {
      using client = await openFrameClient(proxyPath.port);
      client.send(...Array.from({ length: 500 }, (_, at) => headersOf(2 * at + 1, getFields())));
      let [before, most] = [0, 0];
      while (before < 500) {
        await turn();
        most = Math.max(most, proxyPath.http2.active - before);
        before = proxyPath.http2.active;
      }
      // One share from the read itself, and one of the turn behind it.
      expect(most).toBeLessThanOrEqual(32);
    }
    await proxyPath.empty();
  });
});
