import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../../api/kinds/core.ts";
import { podsPerNodeMax, refusalToSchedule, type SchedulingQuestion } from "./schedule.ts";

const good: PodSpec = { containers: [{ name: "main", command: ["node"] }] };

function refusalOf(spec: Partial<PodSpec>, question: Partial<SchedulingQuestion> = {}) {
  return refusalToSchedule({
    pod: { metadata: {}, spec: { ...good, ...spec } },
    podsOnNode: 0,
    podsMax: podsPerNodeMax,
    hasProgram: () => true,
    hasClaim: () => true,
    ...question,
  });
}

const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];

describe("a Pod without a node", () => {
  it("gets the node when no rule forbids it", () => {
    expect(refusalOf({ volumes })).toBeUndefined();
  });

  it.each([
    { why: "the node is full", question: { podsOnNode: podsPerNodeMax }, says: "1 Too many pods" },
    {
      why: "its claim is missing",
      question: { hasClaim: () => false },
      says: 'persistentvolumeclaim "data" not found',
    },
    {
      why: "its program is missing",
      question: { hasProgram: () => false },
      says: '1 node does not have the program "node" (container "main")',
    },
  ])("is refused when $why", ({ question, says }) => {
    const message = `0/1 nodes are available: ${says}.`;
    expect(refusalOf({ volumes }, question)).toEqual({ reason: "Unschedulable", message });
  });

  it("is refused when a container has only an image", () => {
    expect(refusalOf({ containers: [{ name: "main", image: "nginx", args: ["-v"] }] })?.message).toBe(
      '0/1 nodes are available: container "main" has no command, and this node runs programs, not images.',
    );
  });

  it("is refused for a missing program of an init container as well", () => {
    const initContainers = [{ name: "init", command: ["gone"] }];
    const hasProgram = (container: { readonly name: string }) => container.name === "main";
    expect(refusalOf({ initContainers }, { hasProgram })?.message).toContain('"gone" (container "init")');
  });

  it("waits for its gates before any other check", () => {
    const gated = refusalOf({ schedulingGates: [{ name: "example.com/wait" }] }, { hasProgram: () => false });
    expect(gated).toEqual({
      reason: "SchedulingGated",
      message: "Scheduling is blocked due to non-empty scheduling gates",
    });
  });
});
