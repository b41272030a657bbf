import { describe, expect, it } from "vitest";
import { isClientKeyUpdate, KeyUpdateBucket } from "./key-updates.ts";

describe("a line of the key log", () => {
  it.each([
    ["CLIENT_TRAFFIC_SECRET_N", true],
    ["CLIENT_TRAFFIC_SECRET_1", true],
    ["CLIENT_TRAFFIC_SECRET_0", false],
    ["SERVER_TRAFFIC_SECRET_N", false],
    ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", false],
    ["EXPORTER_SECRET", false],
    ["CLIENT_RANDOM", false],
    ["", false],
  ])("with %j is about a KeyUpdate of the client: %j", (label, expected) => {
    expect(isClientKeyUpdate(Buffer.from(`${label} 00ff 00ff\n`))).toBe(expected);
  });
});

describe("the KeyUpdate messages of a connection", () => {
  it("are 32 at once, and then one a second", () => {
    const bucket = new KeyUpdateBucket();
    const taken = (nowMs: number) => {
      let count = 0;
      while (bucket.take(nowMs)) count += 1;
      return count;
    };
    expect([5, 5, 1_004, 1_005, 3_505, 4_005, 1_000_000].map(taken)).toEqual([32, 0, 0, 1, 2, 1, 32]);
  });
});
