import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { WakeRecord } from "./wake-record.ts";

class Record extends WakeRecord {
  protected readonly trigger = "request";
  dialFailed(): void {}
}

function wokenSandbox(): Stored<Sandbox> {
  const names = { name: "nova", uid: "u1", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  const annotations = { note: Buffer.alloc(1_000_000, "a").toString("latin1") };
  return { ...aSandbox("nova"), metadata: { ...names, annotations } };
}

it("the record of a request that woke a sandbox keeps nothing of the sandbox", async () => {
  const wakes = { holdBegan() {}, holdEnded() {}, wakeEnded() {}, connection() {} };
  const options = { clock: new FakeClock(), wakes, podSeenMs: () => 0, acceptedMs: () => 0, onWake: undefined };
  const records: Record[] = [];
  const bytes = await heapBytesOf(() => {
    for (let count = 0; count < 20; count += 1) {
      const record = new Record(0, options);
      record.woke({ mine: true, patchedMs: 1, answer: wokenSandbox() });
      records.push(record);
    }
  });
  expect(bytes / records.length).toBeLessThan(20_000);
});
