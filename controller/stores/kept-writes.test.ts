import { describe, expect, it } from "vitest";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import { NotKept } from "../../kube/client/errors.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { KeptWrites } from "./kept-writes.ts";

const seen: Stored<KubeObject> = {
  metadata: { namespace: "lab", name: "nova", uid: "u", resourceVersion: "1", creationTimestamp: "" },
};
const answer = (metadata: object, more: object = {}) => ({ ...more, metadata: { ...seen.metadata, ...metadata } });

function aStore() {
  const clock = new FakeClock();
  const kept = new KeptWrites(clock);
  let calls = 0;
  const write = (body: object, answered: Stored<KubeObject>) =>
    kept.patch(seen, body, async () => {
      calls += 1;
      return answered;
    });
  return { clock, kept, write, calls: () => calls };
}

describe("a write whose answer shows it", () => {
  const owner = { kind: "Sandbox", uid: "o" };
  const cases: Readonly<Record<string, readonly [object, Stored<KubeObject>]>> = {
    "another version": [
      { metadata: { resourceVersion: "1", labels: { a: "b" } } },
      answer({ resourceVersion: "2", labels: { a: "b" } }),
    ],
    "further labels": [{ metadata: { labels: { a: "b" } } }, answer({ labels: { a: "b", c: "d" } })],
    "a removal of what is gone": [{ metadata: { annotations: { a: null } } }, answer({})],
    "further owners, with further fields": [
      { metadata: { ownerReferences: [owner] } },
      answer({
        ownerReferences: [
          { kind: "Other", uid: "p" },
          { ...owner, name: "nova" },
        ],
      }),
    ],
    "an owner that occurs twice": [
      { metadata: { ownerReferences: [owner, owner] } },
      answer({ ownerReferences: [owner] }),
    ],
    "no more finalizers": [{ metadata: { finalizers: [] } }, answer({})],
    "objects of the spec, which have defaults": [{ spec: { ports: [{ port: 1 }], selector: { a: "b" } } }, answer({})],
    "a scalar of the spec": [{ spec: { stage: "Capture" } }, answer({}, { spec: { stage: "Capture" } })],
  };
  it.each(Object.entries(cases))("is kept: %s", async (_what, [body, answered]) => {
    expect(await aStore().write(body, answered)).toBe(answered);
  });
});

describe("a write whose answer does not show it", () => {
  const cases: Readonly<Record<string, readonly [object, Stored<KubeObject>]>> = {
    "metadata.annotations.a": [{ metadata: { annotations: { a: "b" } } }, answer({ annotations: { a: "c" } })],
    "metadata.labels.a": [{ metadata: { labels: { a: null } } }, answer({ labels: { a: "b" } })],
    "metadata.labels.toString": [{ metadata: { labels: { toString: "b" } } }, answer({ labels: {} })],
    "metadata.finalizers": [{ metadata: { finalizers: ["a"] } }, answer({ finalizers: ["b"] })],
    "metadata.ownerReferences": [
      { metadata: { ownerReferences: [{ kind: "Sandbox", uid: "o", controller: true }] } },
      answer({ ownerReferences: [{ kind: "Sandbox", uid: "o" }] }),
    ],
    "spec.operatingMode": [
      { spec: { operatingMode: "Running" } },
      answer({}, { spec: { operatingMode: "Suspended" } }),
    ],
  };
  it.each(Object.entries(cases))("is an error that names %s", async (field, [body, answered]) => {
    const error = await aStore()
      .write(body, answered)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotKept);
    expect(error).toMatchObject({ code: 422, message: expect.stringContaining(`without ${field}, which`) });
  });

  it("is made again after a second, then twice as late each time, and after a minute at the latest", async () => {
    const { clock, write, calls } = aStore();
    const body = { metadata: { labels: { a: "b" } } };
    const atMs: number[] = [];
    for (let ms = 0; ms < 600_000; ms += 100) {
      const before = calls();
      await expect(write(body, answer({}))).rejects.toThrow(NotKept);
      if (calls() > before) atMs.push(ms);
      await clock.advance(100);
    }
    expect(atMs.length).toBeGreaterThan(10);
    expect(atMs.length).toBeLessThan(22);
    expect(atMs[1]).toBeLessThan(2_500);
  });

  it("is forgotten once it is kept, or its object is gone, and delays no other write", async () => {
    const { kept, write } = aStore();
    const body = { metadata: { labels: { a: "b" } } };
    const other = { metadata: { labels: { c: "d" } } };
    await expect(write(body, answer({}))).rejects.toThrow(NotKept);
    await write(other, answer({ labels: { c: "d" } }));
    expect(kept.size).toBe(1);
    kept.forget("u");
    expect(kept.size).toBe(0);
    await write(body, answer({ labels: { a: "b" } }));
    expect(kept.size).toBe(0);
  });
});
