import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import type { SandboxSpec } from "../../api/kinds/sandbox.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { slimPod } from "../sandbox/slim-objects.ts";
import { isStartedAnew, podUidNow } from "./started-anew.ts";

const nova = { namespace: "lab", name: "nova" };
const hibernate: Partial<SandboxSpec> = { suspensionStrategy: { type: "Hibernate" } };

interface View {
  readonly synced?: boolean;
  readonly spec?: Partial<SandboxSpec>;
  readonly pod?: Stored<Pod>;
  readonly isGone?: boolean;
}

const clusterOf = ({ synced = true, spec = hibernate, pod, isGone = false }: View = {}) => ({
  synced,
  sandbox: () => (isGone ? undefined : aSandbox(spec)),
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
  { what: "that had no Pod", before: "", anew: true },
  { what: "that had another Pod", before: "pod-1", anew: true },
  { what: "that had this Pod", before: "pod-2", anew: false },
  { what: "that was not known yet", before: undefined, anew: false },
  { what: "without the strategy", before: "", spec: {}, anew: false },
  { what: "whose Pod may be restored", before: "", pod: restoring, anew: false },
  { what: "that is gone meanwhile", before: "", isGone: true, anew: false },
])("a request that waited for a sandbox $what got it anew: $anew", ({ before, anew, what: _, ...view }) => {
  expect(isStartedAnew(nova, clusterOf(view), { before, now: "pod-2" })).toBe(anew);
});
