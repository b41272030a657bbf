import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import { inactivityAt } from "../../api/rules/suspension.ts";
import { ApiError, ApiUnreachable } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { type Intercept, interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { type SlimSandbox, slimSandbox } from "../sandbox/slim-sandbox.ts";
import { Waker } from "./waker.ts";

const rate = { perSecond: 1, burst: 2 };
const never = new AbortController().signal;

async function asleep(create: (sandbox: Sandbox) => Promise<Stored<Sandbox>>, name = "nova") {
  return create(aSandbox(name, { operatingMode: "Suspended" }));
}

describe("a wake", () => {
  it("is one patch for all concurrent callers, and belongs to one of them", async () => {
    await using api = await openMemoryApi();
    const sandbox = await asleep((each) => api.client.create(sandboxType, each));
    const waker = new Waker(api.client, { rate, clock: systemClock });
    const wakes = await Promise.all(Array.from({ length: 50 }, () => waker.wake(sandbox, never)));
    expect(wakes.filter(({ mine }) => mine)).toHaveLength(1);
    const now = await api.client.get(sandboxType, { namespace: "default", name: "nova" });
    expect(now.spec.operatingMode).toBe("Running");
    expect(now.metadata.generation).toBe(2);
  });

  it("has no effect if the sandbox was changed since it was read", async () => {
    await using api = await openMemoryApi();
    const seen = await asleep((each) => api.client.create(sandboxType, each));
    await api.client.replace(sandboxType, { ...seen, spec: { ...seen.spec, shutdownPolicy: "Delete" } });
    const waker = new Waker(api.client, { rate, clock: systemClock });
    expect(await waker.wake(seen, never)).toEqual({ mine: true, patchedMs: undefined, answer: undefined });
    const now = await api.client.get(sandboxType, { namespace: "default", name: "nova" });
    expect(now.spec.operatingMode).toBe("Suspended");
  });

  it("continues when one of its callers leaves", async () => {
    await using api = await openMemoryApi();
    const sandbox = await asleep((each) => api.client.create(sandboxType, each));
    const waker = new Waker(api.client, { rate, clock: systemClock });
    const leaving = new AbortController();
    const left = waker.wake(sandbox, leaving.signal);
    const stayed = waker.wake(sandbox, never);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    expect((await stayed).patchedMs).toEqual(expect.any(Number));
  });

  it("starts again for a new caller after all others have left", async () => {
    await using api = await openMemoryApi();
    const sandbox = await asleep((each) => api.client.create(sandboxType, each));
    const waker = new Waker(api.client, { rate, clock: systemClock });
    const leaving = new AbortController();
    const left = waker.wake(sandbox, leaving.signal);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await waker.wake(sandbox, never);
    const now = await api.client.get(sandboxType, { namespace: "default", name: "nova" });
    expect(now.spec.operatingMode).toBe("Running");
  });

  it("is rejected beyond the rate limit of its namespace", async () => {
    await using api = await openMemoryApi();
    const waker = new Waker(api.client, { rate: { perSecond: 0.01, burst: 1 }, clock: systemClock });
    const create = (each: Sandbox) => api.client.create(sandboxType, each);
    await waker.wake(await asleep(create, "first"), never);
    await expect(waker.wake(await asleep(create, "second"), never)).rejects.toMatchObject({ code: "WakeRateLimited" });
  });
});

/** A waker whose time is the test's, one permit for each second, and sandboxes that sleep, by name. */
async function given(intercept: Intercept = (_, proceed) => proceed()) {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const clock = new FakeClock();
  const unheard: string[] = [];
  const patched: string[] = [];
  const client = interceptCalls(api.client, (call, proceed) => {
    patched.push(call.name);
    return intercept(call, proceed);
  });
  const onUnheard = ({ metadata }: Stored<SlimSandbox>) => unheard.push(metadata.name);
  const options = { rate: { perSecond: 1, burst: 1 }, clock, onUnheard };
  const waker = opened.use(new Waker(client, options));
  const closing = opened.move();
  return {
    ...{ waker, clock, unheard, patched, client: api.client },
    create: (name: string) => asleep((each) => api.client.create(sandboxType, each), name),
    /** A caller that ignores the result. */
    ask(sandbox: Stored<Sandbox>): AbortController {
      const leaving = new AbortController();
      waker.wake(sandbox, leaving.signal).catch(() => {});
      return leaving;
    },
    isAwake: async (name: string) => {
      const { spec } = await api.client.get(sandboxType, { namespace: "default", name });
      return spec.operatingMode === "Running";
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const left = () => new Error("left");

describe("a wake that waits for its permit", () => {
  it("uses no permit when cancelled, so that others get theirs sooner", async () => {
    await using world = await given();
    await world.waker.wake(await world.create("first"), never);
    for (let count = 0; count < 9; count += 1) world.ask(await world.create(`leaves-${count}`)).abort(left());
    const stays = world.waker.wake(await world.create("stays"), never);
    await world.clock.advance(1_000);
    expect((await stays).answer?.spec.operatingMode).toBe("Running");
    expect(world.patched).toEqual(["first", "stays"]);
  });

  it("keeps its place for a client that is expected back, and wakes without it", async () => {
    await using world = await given();
    await world.waker.wake(await world.create("first"), never);
    const second = await world.create("second");
    const leaving = world.ask(second);
    world.waker.comesBack(second.metadata.uid);
    leaving.abort(left());
    world.ask(await world.create("third"));
    await world.clock.advance(1_000);
    await eventually(() => world.unheard.length > 0);
    expect(world.unheard).toEqual(["second"]);
    expect(await world.isAwake("second")).toBe(true);
    await world.clock.advance(1_000);
    await eventually(() => world.isAwake("third"));
    expect(world.patched).toEqual(["first", "second", "third"]);
  });

  it("has one place in the queue for all changes and requests", async () => {
    await using world = await given();
    await world.waker.wake(await world.create("first"), never);
    let busy = await world.create("busy");
    const asked = [world.waker.wake(busy, never)];
    const other = world.waker.wake(await world.create("other"), never);
    for (let count = 0; count < 5; count += 1) {
      const body = { metadata: { annotations: { count: String(count) } } };
      busy = await world.client.patch(sandboxType, { namespace: "default", name: "busy" }, { type: "merge", body });
      asked.push(world.waker.wake(busy, never));
    }
    await world.clock.advance(1_000);
    const wakes = await Promise.all(asked);
    expect(wakes.filter(({ mine, answer }) => mine && answer)).toHaveLength(1);
    await world.clock.advance(1_000);
    expect((await other).answer?.spec.operatingMode).toBe("Running");
    expect(world.patched).toEqual(["first", "busy", "other"]);
  });
});

describe("a wake of a sandbox that changes meanwhile", () => {
  const changed = (current: Stored<Sandbox>) => ({ key: "default/nova", previous: current, current });
  const awake = (sandbox: Stored<Sandbox>): Stored<Sandbox> => ({
    ...sandbox,
    spec: { ...sandbox.spec, operatingMode: "Running" },
  });
  const idle = ({ metadata, ...rest }: Stored<Sandbox>): Stored<Sandbox> => {
    const annotations = { [suspensionCauseAnnotation]: inactivityAt(metadata.generation ?? 0) };
    return { ...rest, metadata: { ...metadata, annotations } };
  };

  it("ends without a patch when the sandbox is seen awake, and leaves its place to the next", async () => {
    await using world = await given();
    await world.waker.wake(await world.create("first"), never);
    const nova = await world.create("nova");
    const wake = world.waker.wake(nova, never);
    const next = world.waker.wake(await world.create("next"), never);
    world.waker.sandboxChanged(changed(awake(nova)));
    expect(await wake).toEqual({ mine: true, patchedMs: undefined, answer: undefined });
    await world.clock.advance(1_000);
    expect((await next).answer?.spec.operatingMode).toBe("Running");
    expect(world.patched).toEqual(["first", "next"]);
  });

  it("ends without a patch when the sandbox is deleted", async () => {
    await using world = await given();
    await world.waker.wake(await world.create("first"), never);
    const nova = await world.create("nova");
    const wake = world.waker.wake(nova, never);
    world.waker.sandboxChanged({ key: "default/nova", previous: nova, current: undefined });
    expect((await wake).patchedMs).toBeUndefined();
    await world.clock.advance(5_000);
    expect(world.patched).toEqual(["first"]);
  });

  it("patches the version that is seen when its permit comes", async () => {
    await using world = await given();
    await world.waker.wake(await world.create("first"), never);
    const wake = world.waker.wake(await world.create("nova"), never);
    const body = { metadata: { annotations: { note: "newer" } } };
    const newer = await world.client.patch(
      sandboxType,
      { namespace: "default", name: "nova" },
      { type: "merge", body },
    );
    world.waker.sandboxChanged(changed(idle(newer)));
    await world.clock.advance(1_000);
    expect((await wake).answer?.spec.operatingMode).toBe("Running");
  });

  it("gives the answer of a patch in flight, whose effect is seen before it", async () => {
    const answering = Promise.withResolvers<void>();
    await using world = await given(async (_, proceed) => {
      const answer = await proceed();
      await answering.promise;
      return answer;
    });
    const nova = await world.create("nova");
    const wake = world.waker.wake(nova, never);
    await eventually(() => world.isAwake("nova"));
    world.waker.sandboxChanged(changed(awake(nova)));
    answering.resolve();
    expect(await wake).toMatchObject({ mine: true, answer: { metadata: { name: "nova" } } });
  });

  it.each([
    { what: "is lost", error: new ApiUnreachable("away") },
    { what: "is rejected", error: new ApiError(403, { apiVersion: "v1", kind: "Status", reason: "Forbidden" }) },
  ])("ends without another patch if the sandbox is seen awake before the patch $what", async ({ error }) => {
    const failing = Promise.withResolvers<never>();
    await using world = await given(() => failing.promise);
    const nova = await world.create("nova");
    const wake = world.waker.wake(nova, never);
    await eventually(() => world.patched.length === 1);
    world.waker.sandboxChanged(changed(awake(nova)));
    failing.reject(error);
    expect(await wake).toEqual({ mine: true, patchedMs: undefined, answer: undefined });
    await world.clock.advance(10_000);
    expect(world.patched).toEqual(["nova"]);
  });

  it("sends its patch again if the sandbox is seen awake and then asleep before the first fails", async () => {
    const failing = Promise.withResolvers<void>();
    await using world = await given(async (_, proceed) => {
      if (world.patched.length > 1) return proceed();
      await failing.promise;
      throw new ApiUnreachable("away");
    });
    const nova = await world.create("nova");
    const wake = world.waker.wake(nova, never);
    await eventually(() => world.patched.length === 1);
    world.waker.sandboxChanged(changed(awake(nova)));
    world.waker.sandboxChanged(changed(idle(nova)));
    failing.resolve();
    await eventually(async () => {
      await world.clock.advance(100);
      return world.patched.length > 1;
    });
    expect((await wake).answer?.spec.operatingMode).toBe("Running");
  });
});

describe("a patch in flight", () => {
  it("is not cancelled when its caller leaves, and the next caller joins it", async () => {
    const proceeding = Promise.withResolvers<void>();
    await using world = await given((_, proceed) => proceeding.promise.then(proceed));
    const nova = await world.create("nova");
    const leaving = world.ask(nova);
    await eventually(() => world.patched.length === 1);
    leaving.abort(left());
    world.ask(nova); // joins what is under way
    await world.clock.advance(0);
    proceeding.resolve();
    await eventually(() => world.isAwake("nova"));
    expect(world.patched).toEqual(["nova"]);
  });

  it("is not sent again after its activator has ended", async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    await using world = await given(() => promise);
    const waking = world.waker.wake(await world.create("nova"), never);
    await eventually(() => world.patched.length === 1);
    world.waker[Symbol.dispose]();
    reject(new ApiUnreachable("away"));
    await expect(waking).rejects.toThrow("no request waits for this wake");
    expect(world.clock.pending).toBe(0);
  });

  it("that is not answered within 5 seconds is sent again", async () => {
    const clock = new FakeClock();
    const nova = {
      ...aSandbox("nova"),
      metadata: { name: "nova", namespace: "default", uid: "u1", resourceVersion: "1" },
    };
    await using api = await openScriptedApi((_, response) => {
      if (api.received.length > 1) answerJson(response, 200, nova);
    });
    const waker = new Waker(api.client, { rate, clock });
    const wake = waker.wake(nova as Stored<Sandbox>, never);
    await eventually(() => api.received.length === 1);
    await clock.advance(4_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    await eventually(() => clock.pending === 1); // the pause before the retry
    await clock.advance(1_000);
    expect((await wake).answer?.metadata.name).toBe("nova");
    expect(api.received).toHaveLength(2);
  });

  it("is retried while the API server is away and a caller waits", async () => {
    await using world = await given(async () => {
      throw new ApiUnreachable("away");
    });
    const nova = await world.create("nova");
    const leaving = world.ask(nova);
    await eventually(() => world.patched.length === 1 && world.clock.pending > 0);
    world.waker.comesBack(nova.metadata.uid);
    leaving.abort(left());
    for (let second = 0; second < 9; second += 1) await world.clock.advance(1_000);
    const tried = world.patched.length;
    expect(tried).toBeGreaterThan(3);
    await world.clock.advance(2_000);
    const last = world.patched.length;
    for (let second = 0; second < 30; second += 1) await world.clock.advance(1_000);
    expect(world.patched).toHaveLength(last);
    expect(world.clock.pending).toBe(0);
  });
});

describe("a wake that is over", () => {
  const large = () => Buffer.alloc(1_000_000, "a").toString("latin1");
  const version = (count: number): Stored<Sandbox> => {
    const names = { name: "nova", namespace: "default", uid: "u1", creationTimestamp: "2026-01-01T00:00:00Z" };
    const metadata = { ...names, resourceVersion: String(count), annotations: { note: large() } };
    return { ...aSandbox("nova", { operatingMode: "Suspended" }), metadata };
  };

  it.each([
    ["has an answer", async (count: number) => version(count + 1)],
    ["found a newer version", async () => Promise.reject(new ApiError(409, { apiVersion: "v1", kind: "Status" }))],
  ])("keeps no sandbox of many versions when each %s", async (_, patched) => {
    await using api = await openMemoryApi();
    let count = 0;
    const client = interceptCalls(api.client, () => patched(count));
    const waker = new Waker(client, { rate: { perSecond: 100, burst: 100 }, clock: new FakeClock() });
    const bytes = await heapBytesOf(async () => {
      for (count = 1; count <= 20; count += 1) await waker.wake(version(count), never);
    });
    expect(bytes).toBeLessThan(1_000_000);
    expect(await waker.wake(version(20), never)).toMatchObject({ mine: false, answer: undefined });
  });

  it("answers with what the watch keeps of a sandbox", async () => {
    await using api = await openMemoryApi();
    const client = interceptCalls(api.client, async () => version(2));
    const waker = new Waker(client, { rate: { perSecond: 100, burst: 100 }, clock: new FakeClock() });
    const { answer } = await waker.wake(version(1), never);
    expect(answer).toEqual(slimSandbox(version(2)));
  });

  it("is remembered by one timer for each sandbox, whatever the number of its versions", async () => {
    await using world = await given();
    const nova = await world.create("nova");
    await world.waker.wake(nova, never);
    for (let count = 0; count < 3; count += 1) {
      const other = { ...nova, metadata: { ...nova.metadata, resourceVersion: `0${count}` } };
      const wake = world.waker.wake(other, never);
      await world.clock.advance(1_000);
      expect(await wake).toMatchObject({ patchedMs: undefined });
    }
    expect(world.clock.pending).toBe(1);
    await world.clock.advance(60_000);
    expect(world.clock.pending).toBe(0);
  });

  it("gives its answer to a later caller, without a patch, and without the sandbox", async () => {
    await using world = await given();
    const nova = await world.create("nova");
    const { patchedMs } = await world.waker.wake(nova, never);
    expect(await world.waker.wake(nova, never)).toEqual({ mine: false, patchedMs, answer: undefined });
    expect(world.patched).toEqual(["nova"]);
  });

  it("is heard or reported once, in whichever step its last caller leaves", async () => {
    let leave = () => {};
    await using world = await given(async (_, proceed) => {
      const answer = await proceed();
      leave();
      return answer;
    });
    const heard: string[] = [];
    for (let steps = 0; steps < 20; steps += 1) {
      const leaving = new AbortController();
      leave = () => void afterSteps(steps).then(() => leaving.abort(left()));
      const wake = world.waker.wake(await world.create(`nova-${steps}`), leaving.signal);
      const ended = wake.then(
        ({ answer }) => void heard.push(answer?.metadata.name ?? "nothing"),
        () => {},
      );
      await world.clock.advance(1_000);
      await ended;
      expect([...heard, ...world.unheard]).toHaveLength(steps + 1);
    }
    expect(heard.length).toBeGreaterThan(0);
    expect(world.unheard.length).toBeGreaterThan(0);
  });
});

/** Waits for so many steps of the microtask queue. */
async function afterSteps(count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) await undefined;
}
