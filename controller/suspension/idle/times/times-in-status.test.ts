import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Stored } from "../../../../api/kinds/meta.ts";
import type { Pod } from "../../../../api/kinds/pod.ts";
import type { Sandbox, SandboxSpec } from "../../../../api/kinds/sandbox.ts";
import type { ActivityAnswer } from "../../../../api/protocols/drain-protocol.ts";
import type { KubeClient } from "../../../../kube/client/client.ts";
import { silentLogger } from "../../../../lib/log/log.ts";
import { FakeClock } from "../../../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../../../test/support/builders/builders.ts";
import { feedInformer } from "../../../../test/support/fakes/fed-informer.ts";
import { interceptCalls } from "../../../../test/support/fakes/intercepted-client.ts";
import { OwnWrites } from "../../../own-writes.ts";
import { KnownActivators } from "../../activators/activators.ts";
import { FencedPods } from "../../handshake/fenced-pods.ts";
import { RejectedSuspensions } from "../../handshake/rejected-suspensions.ts";
import { SuspensionMetrics } from "../../suspension-metrics.ts";
import { ActivityView } from "../activity-view.ts";
import { IdleWatch } from "../idle-watch.ts";
import { SuspendIdle } from "../suspend-idle.ts";

const startMs = Date.parse("2026-01-01T12:00:00Z");
const key = "lab/nova";
const text = (seconds: number) => new Date(startMs + seconds * 1_000).toISOString().replace(".000Z", "Z");

const elsewhere = () => Promise.reject(new Error("not a part of this test"));
const refusing: KubeClient = {
  ...{ get: elsewhere, list: elsewhere, create: elsewhere, replace: elsewhere, patch: elsewhere, delete: elsewhere },
  watch: () => {
    throw new Error("not a part of this test");
  },
};

/** One sandbox that sleeps after 30 s, an activator in front of it, and passes that write its activity times. */
class World implements AsyncDisposable {
  readonly clock = new FakeClock(new Date(startMs));
  readonly writes: {
    readonly atSeconds: number;
    readonly last: string | undefined;
    readonly next: string | undefined;
  }[] = [];
  /** Whether a pass can write. */
  apiAnswers = true;
  passes = 0;
  #sandbox: Stored<Sandbox>;
  #pod: Stored<Pod> | undefined;
  #answer = (): ActivityAnswer => ({ epoch: "first", cursor: 0, full: false, activities: [] });
  #watch: IdleWatch;

  constructor(auto: Partial<NonNullable<SandboxSpec["autoSuspension"]>> = {}) {
    const metadata = { name: "nova", uid: "nova", creationTimestamp: text(0) };
    this.#sandbox = aSandbox({ autoSuspension: { inactivityTimeoutSeconds: 30, ...auto } }, metadata);
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
    const client = interceptCalls(refusing, async () => {
      this.#sandbox = { ...this.#sandbox, spec: { ...this.#sandbox.spec, operatingMode: "Suspended" } };
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
      read: () => ({ sandbox: this.#sandbox, pods: this.#pod ? [this.#pod] : [] }),
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

describe("the last activity in the status", () => {
  it("is true after each suspension, also if the sandbox is never awake for a minute", async () => {
    await using world = new World();
    for (let round = 0; round < 4; round += 1) {
      await world.start();
      await world.pass(4);
      await world.request();
      const last = world.now;
      await world.untilSuspended();
      expect(world.status).toEqual({ last, next: undefined });
    }
  });

  it("is written a minute after the last write, although nothing else happens", async () => {
    await using world = new World({ inactivityTimeoutSeconds: 3_600 });
    await world.start();
    await world.pass(9);
    await world.request();
    const last = world.now;
    await world.pass(70);
    expect(world.status).toEqual({ last, next: text(11 + 3_600) });
    expect(world.writes).toHaveLength(2);
  });

  it("is at most a minute behind while the sandbox is in use, for at most one write a minute", async () => {
    await using world = new World();
    await world.start();
    for (let request = 0; request < 150; request += 1) {
      await world.request(1 + (request % 7));
      await world.pass(1 + (request % 3));
      const behindMs = world.clock.now().getTime() - Date.parse(world.status.last ?? "");
      expect(behindMs).toBeLessThan(70_000);
    }
    // The first writes are of the start.
    const atSeconds = world.writes.slice(1).map((write) => write.atSeconds);
    const gaps = atSeconds.slice(1).map((second, index) => second - (atSeconds[index] ?? 0));
    expect(gaps.length).toBeGreaterThan(10);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60);
  });

  it("has the end of a request that was reported after the suspension", async () => {
    await using world = new World();
    await world.start();
    await world.untilSuspended();
    await world.request();
    const last = world.now;
    await world.pass(70);
    expect(world.status).toEqual({ last, next: undefined });
  });

  it("does not move back when everything that knew of it has restarted", async () => {
    await using world = new World({ inactivityTimeoutSeconds: 3_600 });
    await world.start();
    await world.pass(300);
    await world.request();
    const last = world.now;
    await world.pass(70);
    await world.restartAll();
    await world.pass(70);
    world.edit();
    expect(world.status.last).toBe(last);
  });
});

describe("the next suspension in the status", () => {
  it("is right as soon as the Pod is Ready, although a slow start would be given more time", async () => {
    await using world = new World();
    await world.start(10);
    expect(world.writes).toEqual([
      { atSeconds: 0, last: text(0), next: text(120) },
      { atSeconds: 10, last: text(10), next: text(40) },
    ]);
  });

  it("says keepAwakeUntil, also during requests, without a write for each", async () => {
    await using world = new World({ keepAwakeUntil: text(3_600) });
    await world.start(10);
    for (let request = 0; request < 20; request += 1) {
      await world.request(5);
      expect(world.status.next).toBe(text(3_600));
      await world.pass(2);
    }
    expect(world.writes.length).toBeLessThanOrEqual(4);
  });
});

describe("the activity times in the status", () => {
  it("cost no pass and no write while the sandbox is unused, suspended or running", async () => {
    await using asleep = new World();
    await asleep.start();
    await asleep.untilSuspended();
    await using awake = new World({ keepAwakeUntil: text(36_000) });
    await awake.start();
    for (const world of [asleep, awake]) {
      await world.pass(130);
      const { passes } = world;
      await world.pass(3_600);
      expect(world.passes).toBe(passes);
    }
  });

  it("are requested once a minute if they cannot be written, and written when they can", async () => {
    await using world = new World({ inactivityTimeoutSeconds: 3_600 });
    await world.start();
    await world.pass(60);
    world.apiAnswers = false;
    await world.request();
    const last = world.now;
    const { passes } = world;
    await world.pass(600);
    expect(world.passes - passes).toBeGreaterThanOrEqual(9);
    expect(world.passes - passes).toBeLessThanOrEqual(11);
    world.apiAnswers = true;
    await world.pass(60);
    expect(world.status).toEqual({ last, next: text(62 + 3_600) });
  });
});
