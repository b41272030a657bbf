import { describe, expect, it, vi } from "vitest";
import { Died, LabApi, Life, startLabAgent } from "../../test/support/labs/mortal-agent.ts";
import { imageOf, NodeLab, podOf, stateOf } from "../../test/support/labs/node-lab.ts";
import { Files } from "./doors/files.ts";

const user = "5a0d0b0c-0000-4000-8000-000000000002";
const scenarios = ["whole", "failing", "failing at the end"] as const;

/** A disk that fails once the image has its name. */
class FailingFiles extends Files {
  override async rename(from: string, to: string): Promise<void> {
    await super.rename(from, to);
    if (to.endsWith("/g1")) throw new Error("input/output error");
  }
}

/** What must hold at each moment: between any two calls of the agent, and after its death. */
function checkInvariants(lab: NodeLab, pod: { readonly uid: string; readonly sentry: number }): void {
  const isFrozen = stateOf(pod.sentry) === "T";
  const isAlive = ["S", "R", "D"].includes(stateOf(pod.sentry));
  const isWhole = lab.has("images/default/guest/g1/image.json");
  if (isWhole && isAlive) throw new Error("two lives: the Pod runs, and its memory can be restored");
  if (isFrozen && !lab.has("tombstones", `${pod.uid}.json`) && !lab.has("failed-captures", `${pod.uid}.json`)) {
    throw new Error("a frozen Pod is forgotten");
  }
}

/** A whole life of an image. Each part ends when the agent is at rest; if the agent dies, another takes over. */
async function live(scenario: (typeof scenarios)[number], endsAt: number): Promise<boolean> {
  await using lab = new NodeLab();
  const pod = await lab.startPod();
  const api = new LabApi(lab);
  api.setPods(podOf(lab, pod.uid));
  api.put(imageOf(lab, pod.uid, { stage: "Capture" }));
  let hasDied = false;
  // A process that got SIGKILL is shown as running until it is gone. That it has done nothing is checked by its memory.
  let isDeleted = false;
  const watched = () => isDeleted || checkInvariants(lab, pod);
  const files = scenario === "failing at the end" ? new FailingFiles() : new Files();
  let agent = startLabAgent(lab, api, { files, life: new Life(endsAt, watched) });
  const settle = async () => {
    try {
      await agent.settle();
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      hasDied = true;
      watched();
      agent = startLabAgent(lab, api, { files, life: new Life(Number.POSITIVE_INFINITY, watched) });
      await agent.settle();
    }
    watched();
  };
  using _failure = scenario === "failing" ? lab.letFail("checkpoint", "fails") : undefined;
  await settle();
  const { phase } = api.image?.status ?? {};
  if (phase === "Failed") {
    expect(lab.files()).toEqual([]);
    expect(stateOf(pod.sentry)).not.toBe("T");
    return hasDied;
  }
  expect(phase).toBe("Captured");
  expect(stateOf(pod.sentry)).toBe("T");
  const memory = lab.memoryOf(pod);
  isDeleted = true;
  const deleted = podOf(lab, pod.uid);
  api.setPods({ ...deleted, metadata: { ...deleted.metadata, deletionTimestamp: "2026-01-01T00:00:01Z" } });
  await settle();
  await vi.waitFor(() => expect(stateOf(pod.sentry)).not.toBe("T"), 5_000);
  expect(lab.memoryOf(pod)).toBe(memory);
  api.setPods(podOf(lab, user, "g1"));
  await settle();
  lab.mark("g1", { pod: user, outcome: "restored" });
  lab.mark("g1", { pod: user, outcome: "restored" }, "main");
  await settle();
  expect(api.image?.status?.restore).toMatchObject({ podUID: user, outcome: "Restored" });
  api.image = undefined;
  api.setPods();
  await settle();
  expect(lab.files()).toEqual([]);
  return hasDied;
}

describe("an agent that dies before any call to the world", () => {
  it.each(scenarios)(
    "leaves what the next agent needs, when the capture is %s",
    { timeout: 120_000 },
    async (scenario) => {
      let endsAt = 0;
      while (await live(scenario, endsAt)) endsAt += 1;
      expect(endsAt).toBeGreaterThan(scenario === "whole" ? 20 : 10);
    },
  );
});
