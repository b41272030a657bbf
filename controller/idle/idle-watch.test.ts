import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import type { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox, noon } from "../../test/support/builders/builders.ts";
import { aCrowd, aPodReadySince, crowd, pass, startMs, timeoutSeconds } from "../../test/support/labs/idle-crowd.ts";

/** A Pod that becomes Ready so long after the test has begun. */
const slowPodOf = (startsInMs: number) => (sandbox: Stored<Sandbox>, clock: FakeClock) => {
  const isReady = clock.now().getTime() >= startMs + startsInMs;
  return aPodReadySince(sandbox, isReady ? new Date(startMs + startsInMs).toISOString() : undefined);
};

/** The most that went to sleep within any ten seconds. */
const atOnce = (moments: readonly number[]): number =>
  Math.max(...moments.map((from) => moments.filter((at) => at >= from && at < from + 10_000).length));

describe("a hundred sandboxes that are idle", () => {
  it.each([
    { what: "the clock is set forth by an hour", disturb: async (clock: FakeClock) => clock.jumpWall(3_600_000) },
    { what: "the clock is set back by an hour", disturb: async (clock: FakeClock) => clock.jumpWall(-3_600_000) },
    { what: "the process is stopped for a minute", disturb: async (clock: FakeClock) => clock.pause(60_000) },
  ])("do not go to sleep as a crowd when $what", async ({ disturb }) => {
    const { clock, watch, asleepAtMs } = aCrowd();
    await using _watch = watch;
    await pass(clock, 20);
    await disturb(clock);
    await pass(clock, 2 * timeoutSeconds + 30);
    expect(asleepAtMs).toHaveLength(crowd);
    expect(atOnce(asleepAtMs)).toBeLessThan(crowd / 2);
  });

  it("do not go as a crowd when the API server was away around their deadline", async () => {
    const { clock, watch, asleepAtMs, state } = aCrowd();
    await using _watch = watch;
    state.apiIsAway = true;
    await pass(clock, 90);
    state.apiIsAway = false;
    await pass(clock, 2 * timeoutSeconds + 60);
    expect(asleepAtMs).toHaveLength(crowd);
    expect(atOnce(asleepAtMs)).toBeLessThan(crowd / 2);
  });
});

it("a round of the watch that fails is reported, and the next ones put sandboxes to sleep", async () => {
  const reported: unknown[] = [];
  using _reports = onUnexpectedError((_, error) => void reported.push(error));
  const { clock, watch, asleepAtMs, state } = aCrowd({ size: 3 });
  await using _watch = watch;
  let failure: unknown;
  watch.failed.catch((error: unknown) => {
    failure = error;
  });
  state.isBroken = true;
  await pass(clock, 10 * timeoutSeconds);
  expect(asleepAtMs).toHaveLength(0);
  // The pauses between the rounds grow to a minute.
  expect(reported.length).toBeLessThan(25);
  expect(String(reported[0])).toContain("a fault of ours");
  state.isBroken = false;
  await pass(clock, 3 * timeoutSeconds);
  expect(failure).toBeUndefined();
  expect(asleepAtMs).toHaveLength(3);
});

it("idle sandboxes of a round that fails after it has found them are found again by the next ones", async () => {
  using _reports = onUnexpectedError(() => {});
  const { clock, watch, asleepAtMs, state } = aCrowd({ size: 3 });
  await using _watch = watch;
  state.isBrokenAfterSweeps = true;
  await pass(clock, 2 * timeoutSeconds);
  expect(state.sweeps).toBeGreaterThan(3);
  expect(asleepAtMs).toHaveLength(0);
  state.isBrokenAfterSweeps = false;
  await pass(clock, 2 * timeoutSeconds);
  expect(asleepAtMs).toHaveLength(3);
});

it("many sandboxes are checked in pieces of a turn of the event loop, and each is read once", async () => {
  /** How many sandboxes each piece has read. */
  const pieces: number[] = [];
  const rest = async () => void pieces.push(0);
  const podOf = (sandbox: Stored<Sandbox>, clock: FakeClock) => {
    pieces.push((pieces.pop() ?? 0) + 1);
    clock.standStill(1);
    return aPodReadySince(sandbox, sandbox.metadata.creationTimestamp);
  };
  const { clock, watch, asleepAtMs } = aCrowd({ podOf, rest });
  await using _watch = watch;
  await clock.advance(1_000);
  expect(pieces.reduce((sum, piece) => sum + piece)).toBe(crowd);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(15);
  await pass(clock, 3 * timeoutSeconds);
  expect(asleepAtMs).toHaveLength(crowd);
});

it("a sandbox that the watch does not know yet has no times to write, and nothing that holds it up", async () => {
  const { clock, watch } = aCrowd();
  await using _watch = watch;
  await pass(clock, 20);
  const unknown = aSandbox({ autoSuspension: { inactivityTimeoutSeconds: 30 } }, { name: "unknown" });
  expect(watch.timesToWrite(unknown)).toBeUndefined();
  expect(watch.blockedSuspension(unknown)).toEqual({ is: "undecided" });
});

it("a sandbox that cannot be read is reported by its name, and all others go to sleep", async () => {
  const reported: unknown[] = [];
  using _reports = onUnexpectedError((_, error) => void reported.push(error));
  const odd = (sandbox: Stored<Sandbox>): Stored<Sandbox> => ({
    ...sandbox,
    spec: {
      ...sandbox.spec,
      get autoSuspension(): never {
        throw new RangeError("Maximum call stack size exceeded");
      },
    },
  });
  const change = (sandbox: Stored<Sandbox>) => (sandbox.metadata.name === "nova-0" ? odd(sandbox) : sandbox);
  const { clock, watch, asleepAtMs } = aCrowd({ size: 3, change });
  await using _watch = watch;
  let failure: unknown;
  watch.failed.catch((error: unknown) => {
    failure = error;
  });
  await pass(clock, 2 * timeoutSeconds);
  expect(failure).toBeUndefined();
  expect(asleepAtMs).toHaveLength(2);
  expect(String(reported[0])).toContain("lab/nova-0");
});

describe("a sandbox that is kept awake until a moment of the wall clock", () => {
  it.each([
    { what: "jumps to that moment", jumpsMs: 10 * 3_600_000, asleep: 1 },
    { what: "does not jump", jumpsMs: 0, asleep: 0 },
  ])("is asleep minutes later: $asleep, when the clock $what", async ({ jumpsMs, asleep }) => {
    const keepAwakeUntil = new Date(startMs + 10 * 3_600_000).toISOString();
    const { clock, watch, asleepAtMs } = aCrowd({ size: 1, keepAwakeUntil });
    await using _watch = watch;
    await pass(clock, 10);
    clock.jumpWall(jumpsMs);
    await pass(clock, 2 * timeoutSeconds);
    expect(asleepAtMs).toHaveLength(asleep);
  });
});

describe("a sandbox without requests", () => {
  it("sleeps when idle since it was Ready, although its start took longer than its idle time", async () => {
    const startsInMs = 100_000;
    const { clock, watch, asleepAtMs } = aCrowd({ size: 1, podOf: slowPodOf(startsInMs) });
    await using _watch = watch;
    const beganMs = clock.ticksMs();
    await pass(clock, 100);
    watch.checkAt("lab/nova-0");
    await pass(clock, timeoutSeconds - 1);
    expect(asleepAtMs).toEqual([]);
    await pass(clock, 20);
    expect(asleepAtMs).toHaveLength(1);
    expect(asleepAtMs[0]).toBeLessThan(beganMs + startsInMs + timeoutSeconds * 1_000 + 10_000);
  });

  it("goes to sleep though it never was Ready, when a connection would not wait for it any longer", async () => {
    const { clock, watch, asleepAtMs } = aCrowd({ size: 1, podOf: slowPodOf(3_600_000) });
    await using _watch = watch;
    await pass(clock, 119);
    expect(asleepAtMs).toEqual([]);
    await pass(clock, 20);
    expect(asleepAtMs).toHaveLength(1);
  });
});

describe("a sandbox that may sleep again", () => {
  const sandbox = aSandbox(
    { autoSuspension: { inactivityTimeoutSeconds: timeoutSeconds } },
    { name: "nova-0", uid: "uid-0", creationTimestamp: new Date(startMs).toISOString() },
  );
  const ended = { type: "Finished", status: "True", reason: "", message: "", lastTransitionTime: noon } as const;

  it.each<{ readonly what: string; readonly before: Partial<Stored<Sandbox>> }>([
    {
      what: "was claimed",
      before: { metadata: { ...sandbox.metadata, labels: { [warmPoolSandboxLabel]: "pool" } } },
    },
    { what: "got an idle time", before: { spec: { ...sandbox.spec, autoSuspension: {} } } },
    { what: "was resumed by a person", before: { spec: { ...sandbox.spec, operatingMode: "Suspended" } } },
    { what: "had expired", before: { spec: { ...sandbox.spec, shutdownTime: noon } } },
    { what: "had ended", before: { status: { conditions: [ended] } } },
  ])("is idle from that moment on, though its Pod was Ready long before: it $what", async ({ before }) => {
    const { clock, watch, asleepAtMs, becomes } = aCrowd({ size: 1, change: () => ({ ...sandbox, ...before }) });
    await using _watch = watch;
    await pass(clock, 10 * timeoutSeconds);
    becomes(sandbox);
    await pass(clock, timeoutSeconds - 1);
    expect(asleepAtMs).toEqual([]);
    await pass(clock, 5);
    expect(asleepAtMs).toHaveLength(1);
  });

  it("is idle from that moment on too if the controller ended before it wrote any time", async () => {
    const hourMs = 3_600_000;
    const { clock, watch, asleepAtMs } = aCrowd({ size: 1, change: () => sandbox, aheadMs: hourMs });
    await using _watch = watch;
    await pass(clock, timeoutSeconds - 1);
    expect(asleepAtMs).toEqual([]);
    await pass(clock, timeoutSeconds + 5);
    expect(asleepAtMs).toHaveLength(1);
  });
});

describe("under a controller whose clock is an hour ahead", () => {
  const aheadMs = 3_600_000;

  it("a Pod that starts is given its whole time", async () => {
    const { clock, watch, asleepAtMs } = aCrowd({ size: 1, podOf: slowPodOf(2 * aheadMs), aheadMs });
    await using _watch = watch;
    await pass(clock, 119);
    expect(asleepAtMs).toEqual([]);
    await pass(clock, 2 * timeoutSeconds);
    expect(asleepAtMs).toHaveLength(1);
  });

  it("no sandbox of the former leader is suspended in the first minute", async () => {
    const { clock, watch, asleepAtMs } = aCrowd({ aheadMs });
    await using _watch = watch;
    await pass(clock, 59);
    expect(asleepAtMs).toEqual([]);
    await pass(clock, timeoutSeconds + 10);
    expect(asleepAtMs).toHaveLength(crowd);
    expect(atOnce(asleepAtMs)).toBeLessThan(crowd / 2);
  });
});
