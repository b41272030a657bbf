import { expect, it } from "vitest";
import type { OwnerReference } from "../../api/kinds/meta.ts";
import { runHashAnnotation } from "../../api/rules/keys.ts";
import { aPodOf, aSandbox, readyStatus } from "../../test/support/builders/builders.ts";
import { anObservation } from "../../test/support/builders/observed.ts";
import { decide } from "./decide.ts";

const owner = (kind: string): OwnerReference => ({
  ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, name: "o", uid: "o1" },
  controller: true,
});

function asksForMemory(ownerReferences: readonly OwnerReference[]): boolean {
  const sandbox = aSandbox({ suspensionStrategy: { type: "Hibernate" } }, { ownerReferences });
  const pod = aPodOf(sandbox, { uid: "pod-1", annotations: { [runHashAnnotation]: "hash" } }, readyStatus);
  const running = { ...pod, spec: { containers: [], nodeName: "node-1", runtimeClassName: "gvisor" } };
  const { actions } = decide(anObservation({ sandbox, pods: [running], memory: { images: [], waitedMs: 0 } }));
  return actions.some((action) => action.do === "createImage");
}

it("a spare of a warm pool has no MemoryImage, so it is never captured, and gets one once it is claimed", () => {
  expect(asksForMemory([owner("SandboxWarmPool")])).toBe(false);
  expect(asksForMemory([owner("SandboxClaim")])).toBe(true);
  expect(asksForMemory([])).toBe(true);
});
