// One sandbox, one activator and one controller on a fake clock: the decisions are the product's, the effects are delays.
import type { ObservedAnswer, PromiseAnswer } from "../../api/drain-protocol.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { mayAskToRun, mayForward } from "../../api/suspension.ts";
import { ActivityView } from "../../controller/suspension/activity-view.ts";
import { decideSuspension, mayHaveNextPod, type Round } from "../../controller/suspension/decide-suspension.ts";
import { idlenessOf } from "../../controller/suspension/idleness.ts";
import {
  intentPatch,
  runningPatch,
  type SandboxPatch,
  sealPatch,
  unsealPatch,
} from "../../controller/suspension/patches.ts";
import { FakeClock } from "../../lib/clock.ts";
import { aSandbox } from "./builders.ts";

const watchMs = 4;
const callMs = 2;
const writeMs = 3;
const podStartMs = 15;
const dialMs = 1;
const requestMs = 7;
const readActivityEveryMs = 10;

export const inactivityTimeoutMs = 1_000;

interface LabRequest {
  state: "held" | "dialing" | "sent" | "answered" | "cut";
  executions: number;
}

/** The API, with consistent reads, and watches that tell `watchMs` later. */
class LabApi {
  sandbox: Stored<Sandbox> = aSandbox({ operatingMode: "Running", autoSuspension: { inactivityTimeoutSeconds: 1 } });
  podUid: string | undefined = "pod-1";
  podSinceMs: number | undefined = 0;
  readonly clock: FakeClock;
  readonly #watchers: (() => void)[] = [];
  #pods = 1;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  watch(told: () => void): void {
    this.#watchers.push(told);
  }

  /** Resolves to whether the version was still that one. */
  async patch({ metadata, spec }: SandboxPatch): Promise<boolean> {
    await this.clock.sleep(writeMs);
    const { resourceVersion, generation = 0, annotations } = this.sandbox.metadata;
    if (metadata.resourceVersion !== resourceVersion) return false;
    const merged = Object.entries({ ...annotations, ...metadata.annotations }).filter(([, value]) => value !== null);
    const changed = spec !== undefined && spec.operatingMode !== this.sandbox.spec.operatingMode;
    this.#store({
      ...this.sandbox,
      metadata: {
        ...this.sandbox.metadata,
        annotations: Object.fromEntries(merged) as Readonly<Record<string, string>>,
        generation: generation + (changed ? 1 : 0),
      },
      spec: { ...this.sandbox.spec, ...spec },
    });
    return true;
  }

  async createPod(): Promise<void> {
    await this.clock.sleep(podStartMs);
    this.#pods += 1;
    this.podUid = `pod-${this.#pods}`;
    this.podSinceMs = this.clock.ticksMs();
    this.#tell();
  }

  deletePod(uid: string): void {
    if (this.podUid !== uid) return;
    this.podUid = undefined;
    this.podSinceMs = undefined;
    this.#tell();
  }

  #store(sandbox: Stored<Sandbox>): void {
    const resourceVersion = String(Number(this.sandbox.metadata.resourceVersion) + 1);
    this.sandbox = { ...sandbox, metadata: { ...sandbox.metadata, resourceVersion } };
    this.#tell();
  }

  #tell(): void {
    for (const told of this.#watchers) told();
  }
}

class LabActivator {
  readonly requests: LabRequest[] = [];
  readonly #api: LabApi;
  readonly #forsworn = new Set<string>();
  #sandbox: Stored<Sandbox>;
  #podUid: string | undefined;
  #toldGeneration = 0;
  #lastMs = 0;
  #askedOf = "";

  constructor(api: LabApi) {
    this.#api = api;
    this.#sandbox = api.sandbox;
    this.#podUid = api.podUid;
    api.watch(() => {
      const { sandbox, podUid } = api;
      api.clock.after(watchMs, () => this.#see(sandbox, podUid));
    });
  }

  /** Held ones are in use of the sandbox, though of no Pod. */
  get inUse(): number {
    return this.requests.filter(({ state }) => state !== "answered" && state !== "cut").length;
  }

  get idleForMs(): number {
    return this.inUse > 0 ? 0 : this.#api.clock.ticksMs() - this.#lastMs;
  }

  take(): void {
    this.requests.push({ state: "held", executions: 0 });
    this.#serve();
  }

  observed(generation: number): ObservedAnswer {
    this.#toldGeneration = Math.max(this.#toldGeneration, generation);
    const superseded = (this.#sandbox.metadata.generation ?? 0) > generation;
    return { inFlight: this.inUse, idleForMs: this.idleForMs, superseded };
  }

  promise(podUid: string): PromiseAnswer {
    this.#forsworn.add(podUid);
    for (const request of this.requests) if (request.state === "dialing") request.state = "held";
    return { inFlight: this.requests.filter(({ state }) => state === "sent").length };
  }

  #see(sandbox: Stored<Sandbox>, podUid: string | undefined): void {
    this.#sandbox = sandbox;
    this.#podUid = podUid;
    this.#serve();
  }

  #serve(): void {
    const bonds = { toldGeneration: this.#toldGeneration, forsworn: this.#forsworn };
    for (const request of this.requests) {
      if (request.state !== "held") continue;
      if (this.#podUid && mayForward(this.#sandbox, this.#podUid, bonds)) void this.#carry(request, this.#podUid);
      else if (mayAskToRun(this.#sandbox)) void this.#wake();
    }
  }

  async #wake(): Promise<void> {
    const { resourceVersion } = this.#sandbox.metadata;
    if (this.#askedOf === resourceVersion) return;
    this.#askedOf = resourceVersion;
    await this.#api.patch({ ...runningPatch(this.#sandbox), metadata: { resourceVersion, annotations: {} } });
  }

  async #carry(request: LabRequest, podUid: string): Promise<void> {
    const { clock } = this.#api;
    request.state = "dialing";
    await clock.sleep(dialMs);
    if (request.state !== "dialing") return;
    request.state = "sent";
    request.executions += 1;
    await clock.sleep(requestMs);
    request.state = this.#api.podUid === podUid ? "answered" : "cut";
    this.#lastMs = clock.ticksMs();
  }
}

/** Looks at everything every few milliseconds, reads the activity, and takes one step of the suspension after another. */
class LabController {
  readonly #api: LabApi;
  readonly #activator: LabActivator;
  readonly #activity = new ActivityView();

  constructor(api: LabApi, activator: LabActivator) {
    this.#api = api;
    this.#activator = activator;
  }

  async run(untilMs: number): Promise<void> {
    const { clock } = this.#api;
    while (clock.ticksMs() < untilMs) {
      const { sandbox } = this.#api;
      if (await this.#isIdle(sandbox)) await this.#api.patch(intentPatch(sandbox));
      await this.#suspend();
      if (mayHaveNextPod(this.#api.sandbox) && !this.#api.podUid) await this.#api.createPod();
      await clock.sleep(readActivityEveryMs);
    }
  }

  async #isIdle(sandbox: Stored<Sandbox>): Promise<boolean> {
    const { clock } = this.#api;
    const { inUse: inFlight, idleForMs } = this.#activator;
    await clock.sleep(callMs);
    const nowMs = clock.ticksMs();
    const { namespace = "", name, uid } = sandbox.metadata;
    const activities = [{ sandbox: { namespace, name, uid }, inFlight, idleForMs }];
    this.#activity.listed(["a"], nowMs);
    this.#activity.heard("a", { epoch: "e", cursor: 0, full: true, activities }, nowMs);
    const use = this.#activity.useOf(uid, nowMs);
    const runningSinceMs = this.#api.podSinceMs;
    const question = { sandbox, use, runningSinceMs, notBeforeMs: 0, now: clock.now(), nowMs };
    return idlenessOf(question).is === "idle";
  }

  async #suspend(): Promise<void> {
    let round: Round | undefined;
    for (;;) {
      const { sandbox, podUid } = this.#api;
      const now = this.#api.clock.now();
      const pod = podUid === undefined ? undefined : { name: "nova", uid: podUid, terminating: false };
      const step = decideSuspension({ sandbox, pod, podIsFresh: true, round, sealedForMs: 0, now });
      round = undefined;
      if (step.do === "seal") await this.#api.patch(sealPatch(sandbox, step.pod, step.cause, now));
      else if (step.do === "writeRunning") await this.#api.patch(runningPatch(sandbox));
      else if (step.do === "unseal") await this.#api.patch(unsealPatch(sandbox));
      else if (step.do === "deletePod") this.#api.deletePod(step.podUid);
      else if (step.do === "askObserved") round = await this.#askObserved(step.podUid, step.generation);
      else if (step.do === "askPromises") round = await this.#askPromises(step.podUid);
      else return;
    }
  }

  async #askObserved(podUid: string, generation: number): Promise<Round> {
    await this.#api.clock.sleep(callMs);
    const { inFlight, idleForMs, superseded = false } = this.#activator.observed(generation);
    await this.#api.clock.sleep(callMs);
    return { asked: "observed", podUid, generation, replies: [{ is: "answered", inFlight, idleForMs, superseded }] };
  }

  async #askPromises(podUid: string): Promise<Round> {
    await this.#api.clock.sleep(callMs);
    const { inFlight } = this.#activator.promise(podUid);
    await this.#api.clock.sleep(callMs);
    return {
      asked: "promise",
      podUid,
      replies: [{ is: "answered", inFlight, idleForMs: undefined, superseded: false }],
    };
  }
}

export interface LabResult {
  readonly requests: readonly Readonly<LabRequest>[];
  /** How many Pods there were. */
  readonly pods: number;
}

/** Nothing happens from 0 on but that requests come at these milliseconds. */
export async function runHandshakeLab(requestsAtMs: readonly number[]): Promise<LabResult> {
  const clock = new FakeClock();
  const api = new LabApi(clock);
  const activator = new LabActivator(api);
  const endMs = inactivityTimeoutMs + 500;
  const controller = new LabController(api, activator).run(endMs);
  for (const atMs of requestsAtMs) clock.after(atMs, () => activator.take());
  await clock.advance(endMs + 100);
  await controller;
  return { requests: activator.requests, pods: Number(api.podUid?.slice("pod-".length) ?? 0) };
}
