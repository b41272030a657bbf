// One sandbox, one activator and one controller on a fake clock. The decisions are the product's code, the effects are delays.
import { Activity } from "../../../activator/activity/activity.ts";
import { keepOpen } from "../../../activator/activity/keep-open.ts";
import { KeptConnections } from "../../../activator/activity/kept-connections.ts";
import { PodFences } from "../../../activator/activity/pod-fences.ts";
import type { Use } from "../../../activator/activity/use.ts";
import { DrainHandlers } from "../../../activator/drain/drain-handlers.ts";
import type { SandboxIdentity } from "../../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { mayAskToRun, mayForward, mayHaveNextPod } from "../../../api/rules/suspension.ts";
import { ActivityView } from "../../../controller/idle/activity-view.ts";
import { idlenessOf } from "../../../controller/idle/decide-idle.ts";
import { usualSilenceLimitMs as silenceLimitMs } from "../../../controller/suspension/activators/silence.ts";
import { decideSuspension, type Round } from "../../../controller/suspension/handshake/decide-suspension.ts";
import { intentPatch, runningPatch, sealPatch, unsealPatch } from "../../../controller/suspension/handshake/patches.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { LabApi } from "./lab-api.ts";

const watchMs = 4;
const callMs = 2;
const dialMs = 1;
const requestMs = 7;
const readActivityEveryMs = 10;

export const inactivityTimeoutMs = 1_000;

interface LabRequest {
  state: "held" | "dialing" | "sent" | "answered" | "cut";
  executions: number;
}

/** An open connection to the first Pod, on which its client asks one question. */
interface LabConnection {
  /** `closedEarly`: closed before the question. `closed`: closed before the answer. `cut`: the Pod was deleted before the answer. */
  state: "quiet" | "closedEarly" | "asked" | "answered" | "closed" | "cut";
  /** Milliseconds from the question until it was closed unanswered. */
  closedAfterMs: number | undefined;
}

/** Its activity, fences and answers are the product's code. Holding and proxying is not. */
class LabActivator {
  readonly requests: LabRequest[] = [];
  readonly drain: DrainHandlers;
  readonly #api: LabApi;
  readonly #activity: Activity;
  readonly #open = new KeptConnections(() => {});
  readonly #fences = new PodFences({
    onFenced: (sandboxUid, podUid) => this.#open.closeAll(sandboxUid, podUid),
    hasPod: (_sandboxUid, podUid) => this.#podUid === podUid,
  });
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
    const busy = async () => ({ asked: false, reason: "NotSeen" }) as const;
    const closeOpen = (sandboxUid: string, podUid: string) => this.#open.closeAll(sandboxUid, podUid);
    const replicaState = { activity: this.#activity, fences: this.#fences, closeOpen, settle: () => {} };
    this.drain = new DrainHandlers({ ...replicaState, seenGeneration, listening, busy });
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

  /** Opens a connection at once, on which its client asks at `atMs` for work of `workMs`. */
  connect({ atMs, workMs }: LabQuestion): LabConnection {
    const { clock } = this.#api;
    const { name, namespace = "" } = this.#sandbox.metadata;
    const connection: LabConnection = { state: "quiet", closedAfterMs: undefined };
    const podUid = "pod-1";
    const use = this.#activity.useBy(undefined);
    use.begin(this.#sandbox);
    use.sentTo(podUid);
    const target = { namespace: "default", podUid, ip: "127.0.0.1", port: 5432, probes: [], young: false };
    const close = () => {
      if (connection.state === "asked") connection.closedAfterMs = clock.ticksMs() - atMs;
      connection.state = connection.state === "asked" ? "closed" : "closedEarly";
    };
    const deps = {
      clock,
      cluster: { sandbox: () => this.#sandbox },
      fences: this.#fences,
      openConnections: this.#open,
    };
    const onMoved = () => void (mayAskToRun(this.#sandbox) && this.#wake());
    const stay = { to: { namespace, name, port: 5432 }, target, use, onEnded: () => {} };
    const listener = keepOpen({ close }, stay, { ...deps, onMoved });
    clock.after(atMs, () => {
      if (connection.state !== "quiet") return;
      connection.state = "asked";
      listener.clientSpoke();
      clock.after(workMs, () => {
        if (connection.state !== "asked") return;
        connection.state = this.#api.podUid === podUid ? "answered" : "cut";
        listener.sandboxSpoke();
      });
    });
    return connection;
  }

  #see(sandbox: Stored<Sandbox>, podUid: string | undefined): void {
    if (this.#podUid !== undefined && this.#podUid !== podUid) this.#fences.podGone(sandbox.metadata.uid, this.#podUid);
    this.#activity.saw(sandbox);
    this.#fences.sandboxSeen(sandbox);
    this.#sandbox = sandbox;
    this.#podUid = podUid;
    this.#serve();
  }

  #mayForward(podUid: string): boolean {
    return this.#podUid === podUid && mayForward(this.#sandbox, podUid, this.#fences.of(this.#sandbox.metadata.uid));
  }

  #serve(): void {
    for (const request of this.requests) {
      if (request.state !== "held") continue;
      if (this.#podUid && this.#mayForward(this.#podUid)) void this.#proxy(request, this.#podUid);
      else if (mayAskToRun(this.#sandbox)) void this.#wake();
    }
  }

  async #wake(): Promise<void> {
    const { resourceVersion } = this.#sandbox.metadata;
    if (this.#askedOf === resourceVersion) return;
    this.#askedOf = resourceVersion;
    await this.#api.patch({ ...runningPatch(this.#sandbox), metadata: { resourceVersion, annotations: {} } });
  }

  async #proxy(request: LabRequest, podUid: string): Promise<void> {
    const { clock } = this.#api;
    request.state = "dialing";
    await clock.sleep(dialMs);
    if (!this.#mayForward(podUid)) {
      request.state = "held";
      return this.#serve();
    }
    const use = this.#uses.get(request);
    use?.sentTo(podUid);
    use?.dispatched();
    request.state = "sent";
    request.executions += 1;
    await clock.sleep(requestMs);
    request.state = this.#api.podUid === podUid ? "answered" : "cut";
    use?.end();
  }
}

/** Reads the state and the activity every few milliseconds, and takes the steps of the suspension. */
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
    this.#activity.listed([{ id: "a", name: "a", mayServe: true }], clock.ticksMs());
    const answer = this.#activator.drain.activity(this.#activity.requestFor("a"));
    await clock.sleep(callMs);
    const nowMs = clock.ticksMs();
    this.#activity.received("a", answer, nowMs);
    const use = this.#activity.useOf(sandbox.metadata.uid, nowMs);
    const sinceMs = this.#api.podSinceMs;
    const start = { seenMs: sinceMs ?? 0, readyMs: sinceMs, isInherited: false, recordedMs: undefined };
    const podStart = sinceMs === undefined ? undefined : start;
    const question = { sandbox, use, podStart, notBeforeMs: 0, now: clock.now(), nowMs };
    return idlenessOf(question).is === "idle";
  }

  async #suspend(): Promise<void> {
    let round: Round | undefined;
    for (;;) {
      const { sandbox, podUid } = this.#api;
      const now = this.#api.clock.now();
      const pod = podUid === undefined ? undefined : { name: "nova", uid: podUid, terminating: false };
      const known = { podIsFresh: true, podIsFenced: false, sealedForMs: 0, silenceLimitMs, now };
      const step = decideSuspension({ sandbox, pod, round, ...known });
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
    const { inFlight, idleForMs, superseded = false } = this.#activator.drain.observed(question);
    await this.#api.clock.sleep(callMs);
    return { asked: "observed", podUid, generation, replies: [{ is: "answered", inFlight, idleForMs, superseded }] };
  }

  async #askPromises(podUid: string): Promise<Round> {
    await this.#api.clock.sleep(callMs);
    const { inFlight } = this.#activator.drain.promise({ sandbox: this.#identity, podUid });
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
  /** The number of Pods that were created. */
  readonly pods: number;
}

export interface LabQuestion {
  readonly atMs: number;
  readonly workMs: number;
}

/** Runs with one question on an open connection as the only traffic. */
export async function runQuestionLab(question: LabQuestion): Promise<Readonly<LabConnection>> {
  const clock = new FakeClock();
  const api = new LabApi(clock);
  const activator = new LabActivator(api);
  const connection = activator.connect(question);
  const endMs = question.atMs + question.workMs + 500;
  const controller = new LabController(api, activator).run(endMs);
  await clock.advance(endMs + 100);
  await controller;
  return connection;
}

/** Runs with requests at these times, in milliseconds, as the only traffic. */
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
