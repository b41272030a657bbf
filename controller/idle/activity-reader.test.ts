import { describe, expect, it } from "vitest";
import type { ActivityAnswer, SandboxActivity } from "../../api/between-programs/drain-protocol.ts";
import { keyOf } from "../../api/kinds/meta.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { nextTurn } from "../../lib/time/yielding.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { type ActivatorFinder, KnownActivators } from "../suspension/activators/activators.ts";
import type { ActivityReply } from "../suspension/activators/ask-activators.ts";
import { longestSilenceMs } from "../suspension/activators/silence.ts";
import { FencedPods } from "../suspension/handshake/fenced-pods.ts";
import { ActivityReader } from "./activity-reader.ts";
import { ActivityView } from "./activity-view.ts";

const signal = new AbortController().signal;
const sandbox = { namespace: "lab", name: "nova", uid: "nova" };
const nova = aSandbox({}, sandbox);
const answer: ActivityAnswer = {
  epoch: "first",
  cursor: 1,
  full: true,
  activities: [{ sandbox, inFlight: 0, idleForMs: 5_000 }],
};

/** Two activators, of which the second answers when the test lets it. */
function given() {
  const clock = new FakeClock();
  const calls: PromiseWithResolvers<ActivityReply>[] = [];
  const news: SandboxActivity[] = [];
  const view = new ActivityView();
  const host = "127.0.0.1";
  const known = new KnownActivators();
  known.are(["quick", "slow"].map((id) => ({ id, host, port: 1 })));
  const activators = { mayServe: true };
  const all = () => known.known().map((activator) => ({ ...activator, ...activators }));
  const finder: ActivatorFinder = { known: all, list: async () => all(), onChange: () => new DisposableStack() };
  const replies = { quick: answer };
  const rounds = {
    keep: () => {},
    activity: async ({ id }: { readonly id: string }) => {
      if (id === "quick") return replies.quick;
      const call = Promise.withResolvers<ActivityReply>();
      calls.push(call);
      return call.promise;
    },
  };
  const fencedPods = new FencedPods(() => undefined);
  const onActivity = (heard: SandboxActivity) => news.push(heard);
  const existing = new Map([[keyOf(nova), nova]]);
  const read = (key: string) => {
    const found = existing.get(key);
    return found && { sandbox: found };
  };
  const reader = new ActivityReader({ read, finder, rounds, view, clock, fencedPods, onActivity });
  return { clock, calls, news, view, reader, activators, existing, replies };
}

it("an answer with many sandboxes is taken in pieces of a turn of the event loop", async () => {
  const { clock, news, reader, existing, replies, view, calls } = given();
  const names = Array.from({ length: 200 }, (_, at) => `nova-${at}`);
  const activities = names.map((name) => ({
    sandbox: { namespace: "lab", name, uid: name },
    inFlight: 1,
    idleForMs: 0,
  }));
  replies.quick = { ...answer, activities };
  existing.get = () => {
    clock.standStill(0.5);
    return nova;
  };
  const reading = reader.read(signal);
  await nextTurn();
  const taken = [news.length];
  expect(view.useOf("nova-199", clock.ticksMs()).busy).toBe("1 in flight"); // all of it counts at once
  for (; news.length < 200; taken.push(news.length)) await nextTurn();
  expect(taken).toEqual([64, 128, 192, 200]);
  calls[0]?.resolve(answer);
  await reading;
});

describe("an activator that hangs", () => {
  it("delays no caller for longer than half a second, and is not asked twice", async () => {
    const { clock, calls, news, reader } = given();
    const first = reader.read(signal);
    await clock.advance(500);
    await first;
    expect(news).toHaveLength(1);
    expect(reader.isCurrent).toBe(false);
    await reader.read(signal);
    expect(calls).toHaveLength(1);
    expect(news).toHaveLength(2);
  });

  it("is heard when it answers at last", async () => {
    const { clock, calls, news, view, reader } = given();
    const first = reader.read(signal);
    await clock.advance(500);
    await first;
    calls[0]?.resolve({ ...answer, activities: [{ sandbox, inFlight: 3, idleForMs: 0 }] });
    await clock.advance(1);
    expect(reader.isCurrent).toBe(true);
    expect(news).toHaveLength(2);
    expect(view.useOf("nova", clock.ticksMs()).busy).toBe("3 in flight");
  });

  it("counts as silent since the question when its answer waited while the controller stood still", async () => {
    const { clock, calls, view, reader } = given();
    const first = reader.read(signal);
    await clock.advance(500);
    await first;
    clock.standStill(126_000);
    calls[0]?.resolve(answer);
    const again = reader.read(signal);
    await clock.advance(500);
    await again;
    expect(view.useOf("nova", clock.ticksMs()).unanswered).toMatchObject({ by: "slow", forMs: 127_000 });
  });

  it("keeps no sandbox awake once its Pod has been unready for five minutes", async () => {
    const { clock, calls, reader, view, activators } = given();
    activators.mayServe = false;
    for (let passedMs = 0; passedMs < longestSilenceMs + 5_000; passedMs += 5_000) {
      const read = reader.read(signal);
      await clock.advance(4_000);
      calls.at(-1)?.resolve({ is: "silent", forMs: passedMs, lostForMs: passedMs });
      await clock.advance(1_000);
      await read;
    }
    const last = reader.read(signal);
    await clock.advance(500);
    await last;
    expect(reader.isCurrent).toBe(true);
    expect(view.useOf("nova", clock.ticksMs()).busy).toBeUndefined();
  });

  it("keeps every sandbox awake for as long as its Pod is Ready, and is waited for", async () => {
    const { clock, calls, reader, view } = given();
    for (let passedMs = 0; passedMs < 3 * longestSilenceMs; passedMs += 5_000) {
      const read = reader.read(signal);
      await clock.advance(4_000);
      calls.at(-1)?.resolve({ is: "silent", forMs: passedMs, lostForMs: 0 });
      await clock.advance(1_000);
      await read;
    }
    const last = reader.read(signal);
    await clock.advance(500);
    await last;
    expect(reader.isCurrent).toBe(false);
    expect(view.useOf("nova", clock.ticksMs()).busy).toBe("activator not responding");
  });
});

describe("the activity of a sandbox that the stores do not show", () => {
  /** Reads every five seconds, for so long. */
  const readFor = async ({ clock, reader }: ReturnType<typeof given>, forMs: number) => {
    for (let passedMs = 0; passedMs < forMs; passedMs += 5_000) {
      const read = reader.read(signal);
      await clock.advance(5_000);
      await read;
    }
  };
  const late = { ...answer, activities: [{ sandbox, inFlight: 1, idleForMs: 0 }] };

  it("is forgotten again after five minutes when a late answer brings it back", async () => {
    const world = given();
    world.replies.quick = { ...answer, activities: [] };
    const { clock, calls, view, reader, existing } = world;
    const first = reader.read(signal);
    await clock.advance(500);
    await first;
    existing.clear();
    view.forget("nova");
    calls[0]?.resolve(late);
    await clock.advance(1);
    expect(view.useOf("nova", clock.ticksMs()).lastMs).toBeDefined();
    await readFor(world, 310_000);
    expect(view.useOf("nova", clock.ticksMs()).lastMs).toBeUndefined();
  });

  it("is kept when the sandbox appears in that time", async () => {
    const world = given();
    world.replies.quick = { ...answer, activities: [] };
    const { clock, calls, view, reader, existing } = world;
    existing.clear();
    const first = reader.read(signal);
    await clock.advance(500);
    await first;
    calls[0]?.resolve(late);
    await clock.advance(1);
    existing.set(keyOf(nova), nova);
    await readFor(world, 310_000);
    expect(view.useOf("nova", clock.ticksMs()).lastMs).toBeDefined();
  });
});
