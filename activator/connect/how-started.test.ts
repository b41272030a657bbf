import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { Hibernation, SandboxSpec } from "../../api/kinds/sandbox.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { slimPod } from "../sandbox/slim-objects.ts";
import { slimSandbox } from "../sandbox/slim-sandbox.ts";
import { howStarted, podUidNow } from "./how-started.ts";

const nova = { namespace: "lab", name: "nova" };
const hibernate: Partial<SandboxSpec> = { suspensionStrategy: { type: "Hibernate" } };

type Wake = NonNullable<Hibernation["lastWake"]>;

interface View {
  readonly synced?: boolean;
  readonly spec?: Partial<SandboxSpec>;
  readonly pod?: Stored<Pod>;
  readonly wake?: Wake;
  readonly isGone?: boolean;
}

const wake = (mode: "Restored" | "Anew", podUID: string): Wake => ({ mode, podUID });
const sandboxWith = (spec: Partial<SandboxSpec>, lastWake?: Wake) =>
  slimSandbox(aSandbox(spec, {}, lastWake ? { hibernation: { lastWake } } : {}));

const clusterOf = ({ synced = true, spec = hibernate, pod, wake, isGone = false }: View = {}) => ({
  synced,
  sandbox: () => (isGone ? undefined : sandboxWith(spec, wake)),
  podOf: () => pod,
});

it("the Pod of a sandbox is known by its UID, also that there is none, but not before the first view", () => {
  const pod = aPodOf(aSandbox(), { uid: "pod-1" });
  expect(podUidNow(nova, clusterOf({ pod }))).toBe("pod-1");
  expect(podUidNow(nova, clusterOf())).toBe("");
  expect(podUidNow(nova, clusterOf({ synced: false }))).toBeUndefined();
  expect(podUidNow(nova, clusterOf({ isGone: true }))).toBeUndefined();
});

const annotations = { "hibernation.rouse.dev/image": "pod-1" };
const restoring = slimPod(aPodOf(aSandbox(), { uid: "pod-2", annotations }));

it.each([
  { what: "that had no Pod", before: "", how: "anew" },
  { what: "that had another Pod", before: "pod-1", how: "anew" },
  { what: "that had this Pod", before: "pod-2", how: undefined },
  { what: "that was not known yet", before: undefined, how: undefined },
  { what: "without the strategy", before: "", spec: {}, how: undefined },
  { what: "whose Pod may be restored", before: "", pod: restoring, how: undefined },
  {
    what: "whose node has told of an earlier Pod",
    before: "",
    pod: restoring,
    wake: wake("Restored", "pod-1"),
    how: undefined,
  },
  {
    what: "whose node has restored the Pod",
    before: "",
    pod: restoring,
    wake: wake("Restored", "pod-2"),
    how: "restored",
  },
  { what: "whose node has not restored the Pod", before: "", pod: restoring, wake: wake("Anew", "pod-2"), how: "anew" },
  { what: "that is gone meanwhile", before: "", isGone: true, how: undefined },
])("a request that waited for a sandbox $what says $how", ({ before, how, what: _, ...view }) => {
  expect(howStarted(nova, clusterOf(view), { before, now: "pod-2" })?.()).toBe(how);
});

it("what the node tells while the response is awaited is said, too", () => {
  const seen: { wake?: Wake } = {};
  const cluster = { ...clusterOf({ pod: restoring }), sandbox: () => sandboxWith(hibernate, seen.wake) };
  const how = howStarted(nova, cluster, { before: "", now: "pod-2" });
  expect(how?.()).toBeUndefined();
  seen.wake = wake("Restored", "pod-2");
  expect(how?.()).toBe("restored");
});
