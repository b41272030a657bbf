import { Registry } from "prom-client";
import { expect } from "vitest";
import type { ActivityAnswer } from "../../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";
import type { Sandbox, SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { mergePatch } from "../../../apiserver/patch/merge-patch.ts";
import { ActivityView } from "../../../controller/idle/activity-view.ts";
import { IdleWatch } from "../../../controller/idle/idle-watch.ts";
import { SuspendIdle } from "../../../controller/idle/suspend-idle.ts";
import { OwnWrites } from "../../../controller/own-writes.ts";
import { KnownActivators } from "../../../controller/suspension/activators/activators.ts";
import { FencedPods } from "../../../controller/suspension/handshake/fenced-pods.ts";
import { RejectedSuspensions } from "../../../controller/suspension/handshake/rejected-suspensions.ts";
import type { MemoryRefusal } from "../../../controller/suspension/hibernation/memory-provider.ts";
import { SuspensionMetrics } from "../../../controller/suspension/suspension-metrics.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../builders/builders.ts";
import { feedInformer } from "../fakes/fed-informer.ts";
import { interceptCalls } from "../fakes/intercepted-client.ts";

const startMs = Date.parse("2026-01-01T12:00:00Z");
const key = "lab/nova";
export const text = (seconds: number) => new Date(startMs + seconds * 1_000).toISOString().replace(".000Z", "Z");

const elsewhere = () => Promise.reject(new Error("not a part of this test"));
const refusing: KubeClient = {
  ...{ get: elsewhere, list: elsewhere, create: elsewhere, replace: elsewhere, patch: elsewhere, delete: elsewhere },
  watch: () => {
    throw new Error("not a part of this test");
  },
};

/** One sandbox that sleeps after 30 s, an activator in front of it, and passes that write its activity times. */
export class TimesWorld implements AsyncDisposable {
  readonly clock = new FakeClock(new Date(startMs));
  readonly writes: {
    readonly atSeconds: number;
    readonly last: string | undefined;
    readonly next: string | undefined;
  }[] = [];
  /** Whether a pass can write. */
  apiAnswers = true;
  /** Why its memory cannot be kept. */
  memoryRefusal: MemoryRefusal | undefined;
  passes = 0;
  #sandbox: Stored<Sandbox>;
  #pod: Stored<Pod> | undefined;
  #answer = (): ActivityAnswer => ({ epoch: "first", cursor: 0, full: false, activities: [] });
  #watch: IdleWatch;

  constructor(auto: Partial<NonNullable<SandboxSpec["autoSuspension"]>> = {}, spec: Partial<SandboxSpec> = {}) {
    const metadata = { name: "nova", uid: "nova", creationTimestamp: text(0) };
    this.#sandbox = aSandbox({ autoSuspension: { inactivityTimeoutSeconds: 30, ...auto }, ...spec }, metadata);
    this.#watch = this.#lead();
  }

  get status() {
    const { lastActivityTime: last, nextSuspensionTime: next } = this.#sandbox.status ?? {};
    return { last, next };
  }

  get now(): string {
    return text((this.clock.now().getTime() - startMs) / 1_000);
  }

  get isSuspended(): boolean {
    return this.#sandbox.spec.operatingMode === "Suspended";
  }

  /** Its Pod is created, and Ready after that many seconds. */
  async start(readyAfterSeconds = 1): Promise<void> {
    const creationTimestamp = this.clock.now().toISOString();
    const podWith = (status: "True" | "False") =>
      aPodOf(
        this.#sandbox,
        { uid: creationTimestamp, creationTimestamp },
        {
          phase: "Running",
          conditions: [{ type: "Ready", status, lastTransitionTime: this.clock.now().toISOString() }],
        },
      );
    this.#sandbox = { ...this.#sandbox, spec: { ...this.#sandbox.spec, operatingMode: "Running" } };
    this.#pod = podWith("False");
    this.#changed();
    await this.pass(readyAfterSeconds);
    this.#pod = podWith("True");
    this.#changed();
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) await this.clock.advance(1_000);
  }

  /** A request that takes so long. */
  async request(seconds = 1): Promise<void> {
    this.#report(1);
    await this.pass(seconds);
    this.#report(0);
  }

  async untilSuspended(): Promise<void> {
    for (let second = 0; second < 300 && !this.isSuspended; second += 1) await this.pass(1);
    expect(this.isSuspended).toBe(true);
    this.#pod = undefined;
    this.#changed();
    await this.pass(1);
  }

  /** Another controller leads, and no activator remembers anything. */
  async restartAll(): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
    this.#answer = () => ({ epoch: "second", cursor: 0, full: true, activities: [] });
    this.#watch = this.#lead();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#watch[Symbol.asyncDispose]();
  }

  /** Something else of it changes. */
  edit(): void {
    this.#changed();
  }

  #report(inFlight: number): void {
    const sinceMs = this.clock.ticksMs();
    const sandbox = { namespace: "lab", name: "nova", uid: "nova" };
    // Each change is reported once.
    let isTold = false;
    this.#answer = () => {
      const idleForMs = inFlight > 0 ? 0 : this.clock.ticksMs() - sinceMs;
      const activities = isTold ? [] : [{ sandbox, inFlight, idleForMs }];
      isTold = true;
      return { ...{ epoch: "first", cursor: 1, full: false }, activities };
    };
  }

  /** A pass of the reconciler. */
  #reconcile(): void {
    this.passes += 1;
    const times = this.#watch.timesToWrite(this.#sandbox);
    if (!times || !this.apiAnswers) return;
    const { lastActivityTime: last, nextSuspensionTime: next } = times;
    this.writes.push({ atSeconds: (this.clock.now().getTime() - startMs) / 1_000, last, next });
    this.#sandbox = { ...this.#sandbox, status: times };
    this.#watch.checkAt(key);
  }

  #changed(): void {
    this.#watch.checkAt(key);
    this.#reconcile();
  }

  #lead(): IdleWatch {
    const { clock } = this;
    const client = interceptCalls(refusing, async ({ body }) => {
      this.#sandbox = mergePatch(this.#sandbox, body) as Stored<Sandbox>;
      queueMicrotask(() => this.#changed());
      return this.#sandbox;
    });
    const finder = new KnownActivators();
    finder.are([{ id: "one", host: "127.0.0.1", port: 1 }]);
    const common = { client, clock, log: silentLogger, events: undefined };
    const { informer } = feedInformer<Sandbox>({});
    const sandboxes = new OwnWrites(informer, clock);
    const watch = new IdleWatch({
      ...common,
      read: () => {
        const pods = this.#pod ? [this.#pod] : [];
        return { sandbox: this.#sandbox, pods, memoryRefusal: this.memoryRefusal };
      },
      finder,
      rounds: { activity: async () => this.#answer(), keep: () => {} },
      view: new ActivityView(),
      rejections: new RejectedSuspensions(common),
      fencedPods: new FencedPods(() => undefined),
      fallAsleep: new SuspendIdle({ ...common, sandboxes, askWorkload: async () => undefined }),
      metrics: new SuspensionMetrics(new Registry()),
    });
    watch.onTimes(() => this.#reconcile());
    watch.checkAt(key);
    return watch;
  }
}
