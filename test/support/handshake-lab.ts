// One sandbox, one activator and one controller on a fake clock: the decisions are the product's, the effects are delays.
import { Activity, type Use } from "../../activator/activity/activity.ts";
import { BondBook } from "../../activator/activity/bond-book.ts";
import { DrainDesk } from "../../activator/drain/drain-desk.ts";
import type { SandboxIdentity } from "../../api/drain-protocol.ts";
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

/** Its books and its answers are the product's; who holds and carries is not. */
class LabActivator {
  readonly requests: LabRequest[] = [];
  readonly desk: DrainDesk;
  readonly #api: LabApi;
  readonly #activity: Activity;
  readonly #bonds = new BondBook(() => {});
  readonly #uses = new Map<LabRequest, Use>();
  #sandbox: Stored<Sandbox>;
  #podUid: string | undefined;
  #askedOf = "";

  constructor(api: LabApi) {
    this.#api = api;
    this.#sandbox = api.sandbox;
    this.#podUid = api.podUid;
    this.#activity = new Activity(api.clock);
    const seenGeneration = () => this.#sandbox.metadata.generation ?? 0;
    const listening = async () => ({ ports: [] });
    this.desk = new DrainDesk({ activity: this.#activity, bonds: this.#bonds, seenGeneration, listening });
    api.watch(() => {
      const { sandbox, podUid } = api;
      api.clock.after(watchMs, () => this.#see(sandbox, podUid));
    });
  }

  take(): void {
    const request: LabRequest = { state: "held", executions: 0 };
    const use = this.#activity.useBy({ target: "/", headers: [] });
    use.begin(this.#sandbox);
    this.#uses.set(request, use);
    this.requests.push(request);
    this.#serve();
  }

  #see(sandbox: Stored<Sandbox>, podUid: string | undefined): void {
    if (this.#podUid !== undefined && this.#podUid !== podUid) this.#bonds.podGone(sandbox.metadata.uid, this.#podUid);
    this.#bonds.sandboxSeen(sandbox);
    this.#sandbox = sandbox;
    this.#podUid = podUid;
    this.#serve();
  }

  #mayForward(podUid: string): boolean {
    return this.#podUid === podUid && mayForward(this.#sandbox, podUid, this.#bonds.of(this.#sandbox.metadata.uid));
  }

  #serve(): void {
    for (const request of this.requests) {
      if (request.state !== "held") continue;
      if (this.#podUid && this.#mayForward(this.#podUid)) void this.#carry(request, this.#podUid);
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
    if (!this.#mayForward(podUid)) {
      request.state = "held";
      return this.#serve();
    }
    const use = this.#uses.get(request);
    use?.sentTo(podUid);
    request.state = "sent";
    request.executions += 1;
    await clock.sleep(requestMs);
    request.state = this.#api.podUid === podUid ? "answered" : "cut";
    if (request.state === "answered") use?.answered();
    use?.end();
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
    this.#activity.listed(["a"], clock.ticksMs());
    const answer = this.#activator.desk.activity(this.#activity.requestFor("a"));
    await clock.sleep(callMs);
    const nowMs = clock.ticksMs();
    this.#activity.heard("a", answer, nowMs);
    const use = this.#activity.useOf(sandbox.metadata.uid, nowMs);
    const sinceMs = this.#api.podSinceMs;
    const podStart = sinceMs === undefined ? undefined : { createdMs: sinceMs, readyMs: sinceMs };
    const question = { sandbox, use, podStart, notBeforeMs: 0, now: clock.now(), nowMs };
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

  get #identity(): SandboxIdentity {
    const { namespace = "", name, uid } = this.#api.sandbox.metadata;
    return { namespace, name, uid };
  }

  async #askObserved(podUid: string, generation: number): Promise<Round> {
    await this.#api.clock.sleep(callMs);
    const question = { sandbox: this.#identity, podUid, generation };
    const { inFlight, idleForMs, superseded = false } = this.#activator.desk.observed(question);
    await this.#api.clock.sleep(callMs);
    return { asked: "observed", podUid, generation, replies: [{ is: "answered", inFlight, idleForMs, superseded }] };
  }

  async #askPromises(podUid: string): Promise<Round> {
    await this.#api.clock.sleep(callMs);
    const { inFlight } = this.#activator.desk.promise({ sandbox: this.#identity, podUid });
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
