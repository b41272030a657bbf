import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { podNameAnnotation } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { findPod } from "../../controller/sandbox/find-pod.ts";
import { observe, podIndexes } from "../../controller/sandbox/observe.ts";
import { IndexedStore } from "../../kube/informer/indexed-store.ts";
import { aPodOf, aSandbox, someoneElse } from "../support/builders/builders.ts";

const nothing = { get: () => undefined };

/** Observes a sandbox among these Pods, and counts the Pods that are read for it. */
function observing(sandbox: Stored<Sandbox>, pods: readonly Stored<Pod>[]) {
  const store = new IndexedStore<Pod, "trackedOwner">(podIndexes);
  for (const pod of pods) store.put(pod);
  let read = 0;
  const get = (key: string) => {
    read += 1;
    return store.get(key);
  };
  const views = {
    ...{ sandboxes: { get: () => sandbox }, pods: { get }, podIndex: store },
    ...{ services: nothing, claims: nothing, memory: { preflight: () => undefined } },
  };
  const seen = observe("lab/nova", views, (one) => one.spec.shutdownTime !== undefined);
  if (!seen) throw new Error("the sandbox was not seen");
  return { seen, read, found: findPod(seen), names: seen.pods.map(({ metadata }) => metadata.name) };
}

const nova = aSandbox();
const podsOf = (sandbox: Stored<Sandbox>, count: number) =>
  Array.from({ length: count }, (_, at) => aPodOf(sandbox, { name: `pod-${at}` }));

describe("the Pods that are read for a sandbox", () => {
  it("are not those of other sandboxes whose names have the same hash", () => {
    const namesakes = ["al4aawlri", "a8oba11wk", "auzdau36r"].map((name) => aSandbox({}, { name }));
    expect(new Set(namesakes.map(({ metadata }) => nameHash(metadata.name))).size).toBe(1);
    const pods = namesakes.map((sandbox) => aPodOf(sandbox));
    for (const sandbox of namesakes) {
      const { read, names } = observing(sandbox, pods);
      expect({ read, names }).toEqual({ read: 1, names: [sandbox.metadata.name] });
    }
  });

  it("are two of many that it controls, and the rest are counted", () => {
    const { read, names, found } = observing(nova, podsOf(nova, 1_000));
    expect(names).toHaveLength(2);
    expect(read).toBeLessThan(5);
    expect(found).toEqual({ found: "several", count: 1_000 });
  });

  it("are counted once each, with the Pod of its own name and the recorded one among them", () => {
    const recorded = aSandbox({}, { annotations: { [podNameAnnotation]: "pod-1" } });
    const pods = [aPodOf(nova), ...podsOf(nova, 4)];
    expect(observing(recorded, pods).found).toEqual({ found: "several", count: 5 });
    const unlabelled = [aPodOf(nova, { labels: {} }), ...podsOf(nova, 4)];
    expect(observing(nova, unlabelled).found).toEqual({ found: "several", count: 5 });
  });

  it("are all that it controls where all are to be deleted", () => {
    const expired = aSandbox({ shutdownTime: "2026-01-01T00:00:00Z" });
    const { names, found } = observing(expired, podsOf(nova, 50));
    expect(names).toHaveLength(50);
    expect(found).toEqual({ found: "several", count: 50 });
  });

  it("are one of another name that it controls, and none without the tracking label", () => {
    expect(observing(nova, podsOf(nova, 1)).found).toMatchObject({ found: "owned" });
    expect(observing(nova, [aPodOf(nova, { name: "other", labels: {} })]).found).toEqual({ found: "none" });
  });

  it("are those of its own or the recorded name, whatever their owner", () => {
    const recorded = aSandbox({}, { annotations: { [podNameAnnotation]: "spare" } });
    const foreign = aPodOf(nova, { ownerReferences: [someoneElse] });
    const spare = aPodOf(nova, { name: "spare", labels: {}, ownerReferences: [] });
    expect(observing(nova, [foreign, spare]).found).toMatchObject({ found: "foreign" });
    expect(observing(recorded, [foreign, spare]).found).toMatchObject({ found: "unowned", pod: spare });
  });
});
