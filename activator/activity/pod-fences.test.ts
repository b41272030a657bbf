import { describe, expect, it } from "vitest";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { PodFences } from "./pod-fences.ts";

const running = aSandbox({ operatingMode: "Running" });
const { uid } = running.metadata;
const seal = formatSeal({ podName: "nova", podUid: "p1", cause: "Inactivity", at: "2026-01-01T00:00:00Z" });
const sealed = {
  ...running,
  metadata: { ...running.metadata, annotations: { [sealedPodAnnotation]: seal } },
};

/** `pods`: UIDs of the Pods that are in view. */
function givenFences(pods: readonly string[] = []) {
  const notified: string[] = [];
  const fences = new PodFences({
    onFenced: (_sandboxUid, podUid) => notified.push(podUid),
    hasPod: (sandboxUid, podUid) => sandboxUid === uid && pods.includes(podUid),
  });
  return { fences, notified };
}

const sealing = (podUid: string) => {
  const text = formatSeal({ podName: "nova", podUid, cause: "Person", at: "2026-01-01T00:00:00Z" });
  return { ...running, metadata: { ...running.metadata, annotations: { [sealedPodAnnotation]: text } } };
};

const fenced = (fences: PodFences) => [...fences.of(uid).fenced];

describe("a Pod fence", () => {
  it("lasts from a seal until the Pod was seen gone, also without the seal", () => {
    const { fences, notified } = givenFences();
    fences.sandboxSeen(sealed);
    fences.sandboxSeen(sealed);
    fences.sandboxSeen(running);
    expect(fenced(fences)).toEqual(["p1"]);
    expect(notified).toEqual(["p1"]);
    fences.podGone(uid, "another");
    expect(fenced(fences)).toEqual(["p1"]);
    fences.podGone(uid, "p1");
    expect(fenced(fences)).toEqual([]);
  });

  it("is not made by a seal of a Pod that was seen gone before", () => {
    const { fences } = givenFences();
    fences.sandboxSeen(sealed);
    fences.podGone(uid, "p1");
    fences.sandboxSeen(sealed);
    expect(fenced(fences)).toEqual([]);
  });

  it("is made by a promise about a Pod and a sandbox that were not seen", () => {
    const { fences } = givenFences();
    fences.fence("unseen", "p9");
    expect([...fences.of("unseen").fenced]).toEqual(["p9"]);
    fences.sandboxGone("unseen");
    expect(fences.of("unseen").fenced.size).toBe(0);
  });

  it("includes a reported generation until that or a later generation is seen", () => {
    const { fences } = givenFences();
    const at = (generation: number) => ({ ...running, metadata: { ...running.metadata, generation } });
    fences.reported(uid, 5, 4);
    fences.reported(uid, 3, 2);
    expect(fences.of(uid).reportedGeneration).toBe(5);
    fences.sandboxSeen(at(4));
    expect(fences.of(uid).reportedGeneration).toBe(5);
    fences.sandboxSeen(at(6));
    expect(fences.of(uid).reportedGeneration).toBe(0);
  });

  it("does not include a reported generation that was seen before", () => {
    const { fences } = givenFences();
    fences.reported(uid, 5, 5);
    expect(fences.of(uid).reportedGeneration).toBe(0);
  });
});

describe("seals", () => {
  it("are kept for the last eight unseen Pods, and for every Pod in view", () => {
    const { fences } = givenFences(["in-view"]);
    fences.sandboxSeen(sealing("in-view"));
    for (let each = 0; each < 1_000; each += 1) fences.sandboxSeen(sealing(`never-${each}`));
    fences.sandboxSeen(running);
    expect(fenced(fences)).toEqual(["in-view", ...Array.from({ length: 8 }, (_, at) => `never-${992 + at}`)]);
  });

  it("take no room from promises to the controller, of which the last eight unseen are kept too", () => {
    const { fences } = givenFences();
    for (let each = 0; each < 10; each += 1) fences.fence(uid, `promised-${each}`);
    for (let each = 0; each < 100; each += 1) fences.sandboxSeen(sealing(`never-${each}`));
    expect(fenced(fences)).toHaveLength(16);
    for (let each = 2; each < 10; each += 1) expect(fenced(fences)).toContain(`promised-${each}`);
  });

  it("fence a Pod that comes into view after them", () => {
    const pods: string[] = [];
    const { fences } = givenFences(pods);
    fences.sandboxSeen(sealing("late"));
    pods.push("late");
    for (let each = 0; each < 100; each += 1) fences.sandboxSeen(sealing(`never-${each}`));
    expect(fenced(fences)).toContain("late");
  });
});

describe("a sandbox that was seen deleted", () => {
  it("gets no entry again when the controller asks about it", () => {
    const { fences } = givenFences();
    fences.sandboxSeen(sealed);
    fences.sandboxGone(uid);
    fences.fence(uid, "p1");
    fences.reported(uid, 5, 4);
    fences.podGone(uid, "p1");
    expect(fences.size).toBe(0);
  });

  it("is forgotten after 4,096 later deletions, so that memory stays bounded", () => {
    const { fences } = givenFences();
    for (let each = 0; each <= 4_096; each += 1) fences.sandboxGone(`deleted-${each}`);
    fences.fence("deleted-1", "p1");
    expect(fences.size).toBe(0);
    fences.fence("deleted-0", "p1");
    expect(fences.size).toBe(1);
  });

  it("can be fenced again once an older list brings it back", () => {
    const { fences } = givenFences();
    fences.sandboxGone(uid);
    fences.sandboxSeen(running);
    fences.fence(uid, "p1");
    expect(fenced(fences)).toEqual(["p1"]);
  });
});

describe("the report of fenced Pods", () => {
  const sandbox = { namespace: "lab", name: "nova", uid };

  it("has a Pod in view until it is gone, also when its seal is removed, and none that is not in view", () => {
    const { fences } = givenFences(["p1"]);
    expect(fences.pods).toEqual([]);
    fences.sandboxSeen(sealed);
    fences.sandboxSeen(sealing("another"));
    fences.sandboxSeen(running);
    expect(fences.pods).toEqual([{ sandbox, podUid: "p1" }]);
    fences.podGone(uid, "p1");
    expect(fences.pods).toEqual([]);
  });

  it("has a Pod that the controller asked to fence, once its sandbox is seen", () => {
    const { fences } = givenFences(["p1"]);
    fences.fence(uid, "p1");
    expect(fences.pods).toEqual([]);
    fences.sandboxSeen(running);
    expect(fences.pods).toEqual([{ sandbox, podUid: "p1" }]);
  });
});
