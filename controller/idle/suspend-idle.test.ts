import { describe, expect, it } from "vitest";
import { keyOf } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { feedInformer } from "../../test/support/fakes/fed-informer.ts";
import { refusingClient } from "../../test/support/fakes/refusing-client.ts";
import { OwnWrites } from "../own-writes.ts";
import { probeAgainMs } from "./probe/busy-probe.ts";
import { SuspendIdle } from "./suspend-idle.ts";

const limitSeconds = 600;

/** An idle sandbox whose workload says that it is busy. */
function given() {
  const clock = new FakeClock();
  const sandbox = aSandbox({
    autoSuspension: { inactivityTimeoutSeconds: 60, busyProbe: { httpGet: { port: 8080 }, limitSeconds } },
  });
  const state = { podUid: "pod-1", lastUseMs: clock.ticksMs(), answer: Promise.resolve(503), isGone: false };
  const suspendIdle = new SuspendIdle({
    client: refusingClient,
    sandboxes: new OwnWrites(feedInformer<Sandbox>({}).informer, clock),
    askWorkload: () => state.answer,
    events: undefined,
    clock,
    log: silentLogger,
  });
  const candidate = {
    key: keyOf(sandbox),
    read: () => (state.isGone ? undefined : { sandbox, pods: [aPodOf(sandbox, { uid: state.podUid })] }),
    lastUseMs: () => state.lastUseMs,
  };
  /** Probes the workload: after how many milliseconds the sandbox is checked again. */
  const probe = () =>
    new Promise<number>((resolve) => suspendIdle.mayTry(candidate, resolve, new AbortController().signal));
  return { clock, state, probe, suspendIdle, candidate };
}

/** Probes at the usual pace, as long as the answer counts. Returns for how many milliseconds that was. */
async function busyForMs({ clock, probe }: ReturnType<typeof given>): Promise<number> {
  const beganMs = clock.ticksMs();
  while ((await probe()) > 0) await clock.advance(probeAgainMs);
  return clock.ticksMs() - beganMs;
}

it("a sandbox that is deleted while its workload is asked leaves nothing in memory", async () => {
  const { clock, state, suspendIdle, candidate } = given();
  const answer = Promise.withResolvers<number>();
  state.answer = answer.promise;
  const asked = new Promise<number>((resolve) => suspendIdle.mayTry(candidate, resolve, new AbortController().signal));
  await clock.advance(1);
  state.isGone = true;
  suspendIdle.forget(candidate.key);
  answer.resolve(503);
  expect(await asked).toBe(0);
  expect(suspendIdle.size).toBe(0);
});

it.each([
  { what: "counts", stillMs: 6_000, counts: true },
  { what: "does not count if it waited while the controller stood still", stillMs: 126_000, counts: false },
])("the answer of a workload $what after $stillMs ms", async ({ stillMs, counts }) => {
  const { clock, state, suspendIdle, candidate } = given();
  const answer = Promise.withResolvers<number>();
  state.answer = answer.promise;
  const { signal } = new AbortController();
  const asked = new Promise<number>((resolve) => suspendIdle.mayTry(candidate, resolve, signal));
  await clock.advance(1);
  clock.standStill(stillMs);
  answer.resolve(200);
  expect(await asked).toBe(0);
  expect(suspendIdle.mayTry(candidate, () => {}, signal)).toBe(counts);
});

it("a sandbox is checked again although the question to its workload fails", async () => {
  const reported: unknown[] = [];
  using _reports = onUnexpectedError((_, error) => void reported.push(error));
  const { state, probe } = given();
  state.answer = Promise.reject(new RangeError("a fault of ours"));
  expect(await probe()).toBe(probeAgainMs);
  expect(reported).toEqual([new RangeError("a fault of ours")]);
});

it("a sandbox that is exempt, or deleted, since it was found idle is not suspended", async () => {
  const { state, suspendIdle, candidate } = given();
  const { signal } = new AbortController();
  const idle = { is: "idle", forMs: 60_000, lastMs: 0 } as const;
  const exempt = { is: "exempt", why: "it has expired" } as const;
  const tryTo = (found: typeof idle | typeof exempt) =>
    suspendIdle.tryTo(candidate.key, candidate.read, () => found, signal);
  expect(await tryTo(exempt)).toBe(0);
  await expect(tryTo(idle), "the write, which this client refuses").rejects.toThrow();
  state.isGone = true;
  expect(await tryTo(idle)).toBe(0);
});

describe("a workload that says it is busy", () => {
  it("keeps an idle sandbox awake for the limit", async () => {
    expect(await busyForMs(given())).toBe(limitSeconds * 1_000);
  });

  it("keeps it awake for the whole limit again after the sandbox was used", async () => {
    const world = given();
    expect(await world.probe()).toBe(probeAgainMs);
    await world.clock.advance(7_200_000);
    world.state.lastUseMs = world.clock.ticksMs() - 60_000;
    expect(await busyForMs(world)).toBe(limitSeconds * 1_000);
  });

  it("keeps it awake for the whole limit in the next Pod", async () => {
    const world = given();
    expect(await world.probe()).toBe(probeAgainMs);
    await world.clock.advance(limitSeconds * 1_000);
    world.state.podUid = "pod-2";
    expect(await busyForMs(world)).toBe(limitSeconds * 1_000);
  });
});
