import { createHash } from "node:crypto";
import { expect, vi } from "vitest";
import { type Clock, systemClock, type Timer } from "../../../lib/time/clock.ts";
import { type LabAgent, type LabAgentOptions, LabApi, startLabAgent } from "./mortal-agent.ts";
import { imageOf, NodeLab, podOf, stateOf } from "./node-lab.ts";

/** A clock that a test may move on, and whose timers may be faster. */
export class ShiftedClock implements Clock {
  aheadMs = 0;
  readonly #hurried: number;

  /** A timer of `hurried` milliseconds ends at once. */
  constructor(hurried = Number.NaN) {
    this.#hurried = hurried;
  }

  now(): Date {
    return new Date(systemClock.now().getTime() + this.aheadMs);
  }

  ticksMs(): number {
    return systemClock.ticksMs() + this.aheadMs;
  }

  after(delayMs: number, task: () => void): Timer {
    return systemClock.after(delayMs === this.#hurried ? 20 : delayMs, task);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(delayMs, signal);
  }
}

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
export const image = (file: string) => `images/default/guest/g1/${file}`;

/** With the place of a store that is not on the disk of the node. */
type AgentWorldOptions = LabAgentOptions & { readonly storeRoot?: string };

/** A Pod whose image may be asked for, and the agent of its node. */
export async function openAgentWorld(options: AgentWorldOptions = {}, shim?: string) {
  const lab = new NodeLab(options.storeRoot);
  const pod = await lab.startPod(shim === undefined ? {} : { shim });
  const api = new LabApi(lab);
  api.setPods(podOf(lab, pod.uid));
  api.put(imageOf(lab, pod.uid));
  const { settle, registry, agent }: LabAgent = startLabAgent(lab, api, options);
  const capture = async () => {
    api.setStage("Capture");
    await settle();
  };
  /** One pass that leaves a capture to a later one, as if other captures came first. */
  const look = () => agent.pass("default/guest/g1", new AbortController().signal, false);
  /** The Pod is deleted, and its sentry has ended. */
  const deletePod = async () => {
    api.setPods({
      ...podOf(lab, pod.uid),
      metadata: { ...podOf(lab, pod.uid).metadata, deletionTimestamp: "2026-01-01T00:00:01Z" },
    });
    await settle();
    await vi.waitFor(() => expect(stateOf(pod.sentry)).not.toBe("T"), 5_000);
  };
  const metric = async (name: string) => (await registry.metrics()).split("\n").filter((line) => line.startsWith(name));
  return {
    lab,
    pod,
    api,
    agent,
    settle,
    look,
    capture,
    deletePod,
    metric,
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}
