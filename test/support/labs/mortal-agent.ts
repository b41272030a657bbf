import { Registry } from "prom-client";
import type { MemoryImage, MemoryImageStatus } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { Agent } from "../../../node/agent/agent.ts";
import { AgentMetrics } from "../../../node/agent/agent-metrics.ts";
import type { StoreLimits } from "../../../node/agent/decide/observed.ts";
import type { Doors } from "../../../node/agent/doors/doors.ts";
import { Files } from "../../../node/agent/doors/files.ts";
import type { View } from "../../../node/agent/observe.ts";
import { openDoors } from "../../../node/agent/start-agent.ts";
import { labStore, type NodeLab } from "./node-lab.ts";

/** The agent's process has ended, at a call to the world around it. */
export class Died extends Error {}

/** Counts what an agent does to the world, and ends it at one call. */
export class Life {
  calls = 0;
  isOver = false;
  readonly #endsAt: number;
  readonly #before: () => unknown;

  /** `before` is called before each call. */
  constructor(endsAt = Number.POSITIVE_INFINITY, before: () => unknown = () => {}) {
    this.#endsAt = endsAt;
    this.#before = before;
  }

  step(): void {
    if (this.isOver) throw new Died();
    this.#before();
    this.isOver = this.calls === this.#endsAt;
    this.calls += 1;
    if (this.isOver) throw new Died();
  }

  /** The same door, which does nothing any more once the life is over. */
  of<T extends object>(door: T, changes: readonly (keyof T)[]): T {
    return new Proxy(door, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]) => {
          if (changes.some((change) => change === name)) this.step();
          else if (this.isOver) throw new Died();
          return value.apply(target, args);
        };
      },
    });
  }
}

/** The objects of the API that one agent sees. */
export class LabApi {
  image: Stored<MemoryImage> | undefined;
  pods: readonly Stored<Pod>[] = [];
  readonly #nodeName: string;
  #version = 0;

  constructor({ nodeName }: NodeLab) {
    this.#nodeName = nodeName;
  }

  put(image: MemoryImage): void {
    const { name = "", uid = "image-uid" } = image.metadata;
    this.#version += 1;
    const version = { name, uid, resourceVersion: `${this.#version}`, creationTimestamp: "2026-01-01T00:00:00Z" };
    this.image = { ...image, metadata: { ...image.metadata, ...version } };
  }

  setPods(...pods: readonly Pod[]): void {
    this.pods = pods.map((pod) => {
      const { name = "", uid = "" } = pod.metadata;
      const stored = { name, uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
      return { ...pod, metadata: { ...stored, ...pod.metadata, name, uid } };
    });
  }

  setStage(stage: "Preflight" | "Capture"): void {
    if (this.image) this.put({ ...this.image, spec: { ...this.image.spec, stage } });
  }

  view(): View {
    return {
      nodeName: this.#nodeName,
      memoryImage: ({ image }) => (this.image?.metadata.name === image ? this.image : undefined),
      podByUid: (uid) => this.pods.find(({ metadata }) => metadata.uid === uid),
      podByName: (_, name) => this.pods.find(({ metadata }) => metadata.name === name),
    };
  }

  /** What the API server has; a test may have the view lag behind. */
  async readPod(podName: string): Promise<Stored<Pod> | undefined> {
    return this.pods.find(({ metadata }) => metadata.name === podName);
  }

  async report(image: Stored<MemoryImage>, status: MemoryImageStatus): Promise<void> {
    if (image.metadata.resourceVersion !== this.image?.metadata.resourceVersion) throw new Error("conflict");
    this.put({ ...image, status });
  }
}

export interface LabAgent {
  readonly agent: Agent;
  readonly doors: Doors;
  readonly registry: Registry;
  /** Passes over the image until there is nothing to do. */
  settle(): Promise<void>;
}

export interface LabAgentOptions {
  readonly life?: Life;
  readonly limits?: StoreLimits;
  readonly clock?: Clock;
  readonly files?: Files;
}

const noLimits: StoreLimits = { maxStoreBytes: 0, minFreeBytes: 0, maxNamespacePercent: 100 };
const neverAborted = new AbortController().signal;
const passesMax = 200;

/** An agent of the lab's node, which makes its passes when a test says so. */
export function startLabAgent(lab: NodeLab, api: LabApi, options: LabAgentOptions = {}): LabAgent {
  const { life = new Life(), limits = noLimits, clock = systemClock } = options;
  const changes = [
    "makeFolder",
    "write",
    "replace",
    "create",
    "rename",
    "move",
    "link",
    "remove",
    "removeEmptyFolder",
    "sync",
  ] as const;
  const files = life.of(options.files ?? new Files(), changes);
  const open = openDoors({ runsc: lab.runsc, storeRoot: lab.storeRoot, clock, files });
  const doors = {
    ...open,
    runsc: life.of(open.runsc, ["pause", "resume", "checkpoint"]),
    sandboxes: life.of(open.sandboxes, ["end"]),
  };
  const registry = new Registry();
  const metrics = new AgentMetrics(registry, {
    frozen: () => agent.frozenPods(),
    used: () => doors.store.sizes.knownBytes(),
  });
  const reports = life.of({ report: (...args: Parameters<LabApi["report"]>) => api.report(...args) }, ["report"]);
  const agent: Agent = new Agent({
    ...{ doors, metrics, limits, log: silentLogger, view: api.view(), storeRoot: lab.storeRoot },
    identity: labStore,
    report: (...args) => reports.report(...args),
    readPod: ({ name }) => api.readPod(name),
  });
  const settle = async () => {
    for (let passes = 0; passes < passesMax; passes += 1) {
      const before = api.image?.metadata.resourceVersion;
      const { requeueAfterMs } = await agent.pass("default/guest/g1", neverAborted);
      if (requeueAfterMs !== undefined && requeueAfterMs < 50) await systemClock.sleep(requeueAfterMs);
      else if (before === api.image?.metadata.resourceVersion) return;
    }
    throw new Error("the agent does not come to rest");
  };
  return { agent, doors, registry, settle };
}
