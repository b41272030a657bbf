import { describe, expect, it } from "vitest";
import { podType } from "../../api/core.ts";
import { FakeClock, systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { aPodOf, aSandbox, readyStatus } from "../../test/support/builders.ts";
import { openSleepLab } from "../../test/support/sleep-lab.ts";
import { activatorOf } from "./activators.ts";
import { ActivatorRounds } from "./ask-activators.ts";
import { DrainRefused } from "./drain-client.ts";
import { longestSilenceMs } from "./replies.ts";

const about = { sandbox: { namespace: "lab", name: "nova", uid: "u" }, podUid: "p" };
const signal = new AbortController().signal;

function aRound(status = readyStatus) {
  const clock = new FakeClock();
  const activators = [activatorOf(aPodOf(aSandbox(), { name: "activator" }, status), 8446)];
  const state: { failure: Error | undefined; answer: unknown } = { failure: undefined, answer: { inFlight: 0 } };
  const told: string[] = [];
  const unreachable: number[] = [];
  const rounds = new ActivatorRounds({
    finder: { list: async () => activators, known: () => activators, onChange: () => new DisposableStack() },
    async call() {
      if (state.failure) throw state.failure;
      return state.answer;
    },
    clock,
    log: silentLogger,
    events: { record: ({ note }) => void told.push(note), [Symbol.asyncDispose]: async () => {} },
    metrics: { unreachable: (count) => void unreachable.push(count) },
  });
  return { clock, rounds, state, told, unreachable };
}

describe("an activator that does not answer", () => {
  it("has been silent since its last answer", async () => {
    const { clock, rounds, state } = aRound();
    await rounds.promises(about, signal);
    await clock.advance(10_000);
    state.failure = new Error("reset");
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 10_000 }]);
    state.failure = undefined;
    expect(await rounds.promises(about, signal)).toMatchObject([{ is: "answered", inFlight: 0 }]);
  });

  it("is counted, and told once in an event about its Pod, until it answers again", async () => {
    const { rounds, state, told, unreachable } = aRound();
    state.failure = new Error("reset");
    await rounds.promises(about, signal);
    await rounds.promises(about, signal);
    state.failure = undefined;
    await rounds.promises(about, signal);
    expect(told).toEqual(["does not answer the controller: no sandbox falls asleep for at most 5m0s"]);
    expect(unreachable).toEqual([1, 0]);
  });

  it("has been silent since it was first asked when it never answered", async () => {
    const { clock, rounds, state } = aRound();
    state.failure = new Error("reset");
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 0 }]);
    await clock.advance(longestSilenceMs);
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: longestSilenceMs }]);
  });

  it("may still be there when its port refuses while its Pod is ready", async () => {
    const { rounds, state } = aRound();
    state.failure = new DrainRefused("refused");
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 0 }]);
  });

  it.each(["Failed", "Succeeded", "Pending"] as const)("is not there when its Pod is %s and refuses", async (phase) => {
    const { rounds } = aRound({ phase });
    expect(await rounds.promises(about, signal)).toEqual([{ is: "absent" }]);
  });

  it("does not count as one that answered when its answer makes no sense", async () => {
    const { rounds, state } = aRound();
    state.answer = { inFlight: "none" };
    expect(await rounds.promises(about, signal)).toEqual([{ is: "silent", forMs: 0 }]);
  });
});

describe("a sandbox behind an activator that cannot be reached", () => {
  it("stays awake for five minutes, and goes to sleep after that", async () => {
    await using lab = await openSleepLab();
    await lab.activator[Symbol.asyncDispose]();
    const name = { namespace: "agent-sandbox-system", name: "activator-1" };
    const running = { name: "router", ready: true, restartCount: 0, image: "", imageID: "", state: { running: {} } };
    await expect.poll(async () => (await lab.client.get(podType, name)).status?.phase).toBe("Running");
    const status = { containerStatuses: [running] };
    await lab.client.patch(podType, name, { type: "merge", body: { status } }, { subresource: "status" });

    const clock = new FakeClock(systemClock.now());
    await using _controller = await lab.startController({ clock });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 10 } });
    const pod = await lab.untilReady();
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        await clock.advance(1_000);
        await systemClock.sleep(5);
      }
    };
    await pass(280);
    // Nobody even tried.
    expect((await lab.sandbox()).metadata.generation).toBe(1);
    expect((await lab.pod())?.metadata.uid).toBe(pod.metadata.uid);
    let beat = true;
    const passing = (async () => {
      while (beat) await pass(1);
    })();
    await lab.untilAsleep();
    beat = false;
    await passing;
    expect(await lab.pod()).toBeUndefined();
  });
});
