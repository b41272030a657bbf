import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { type BusyAnswer, drainPaths } from "../../../api/between-programs/drain-protocol.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { type Clock, FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { asTimePasses } from "../../../test/support/as-time-passes.ts";
import { aPodOf, aSandbox } from "../../../test/support/builders/builders.ts";
import { workloadAsker } from "../../idle/probe/ask-workload.ts";
import { KnownActivators } from "./activators.ts";
import { AskThroughActivators } from "./ask-through-activators.ts";
import { drainCalls } from "./drain-client.ts";

const never = new AbortController().signal;

/** `older`: its release does not know the call. `hangs`: it takes the question. `away`: the port is closed. */
type Kind = BusyAnswer | "older" | "hangs" | "away" | "rubbish";

async function startActivatorThat(kind: Kind) {
  const state = { asked: 0 };
  const server = createServer((request, response) => {
    state.asked += 1;
    if (kind === "hangs") return;
    const isKnown = request.url === drainPaths.busy && kind !== "older";
    response.writeHead(isKnown ? 200 : 404).end(JSON.stringify(kind === "rubbish" ? { asked: "perhaps" } : kind));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  if (kind === "away") await close();
  return { port, state, [Symbol.asyncDispose]: close };
}

async function openLab(kinds: readonly Kind[], { clock = systemClock as Clock, direct = 204, silent = [""] } = {}) {
  await using stack = new AsyncDisposableStack();
  const activators: Awaited<ReturnType<typeof startActivatorThat>>[] = [];
  for (const kind of kinds) activators.push(stack.use(await startActivatorThat(kind)));
  const finder = new KnownActivators();
  finder.are(activators.map(({ port }, index) => ({ id: `run-${index}`, host: "127.0.0.1", port })));
  const workload = { asked: 0 };
  const server = createServer((_request, response) => {
    workload.asked += 1;
    response.writeHead(direct).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const sandbox = aSandbox({ autoSuspension: { busyProbe: { httpGet: { port } } } });
  const pod = aPodOf(sandbox, {}, { phase: "Running", podIP: "127.0.0.1" });
  const through = new AskThroughActivators({
    ...{ finder, clock, log: silentLogger, call: drainCalls(() => undefined, clock) },
    isSilent: ({ id }) => silent.includes(id),
  });
  const asker = workloadAsker(through, clock);
  const opened = stack.move();
  return {
    asked: () => [...activators.map(({ state }) => state.asked), workload.asked],
    ask: (signal = never) => asker({ sandbox, pod }, signal),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

describe("asking a workload through the activators", () => {
  const busy = { asked: true, status: 503 } as const;

  it("uses the workload's answer to one of them, and they take turns", async () => {
    await using lab = await openLab([busy, busy]);
    expect([await lab.ask(), await lab.ask(), await lab.ask(), await lab.ask()]).toEqual([503, 503, 503, 503]);
    expect(lab.asked()).toEqual([2, 2, 0]);
  });

  it.each<{ kind: Kind; what: string }>([
    { kind: "older", what: "is of an older release" },
    { kind: "away", what: "refuses" },
    { kind: "rubbish", what: "answers something else" },
    { kind: { asked: false, reason: "NotSeen" }, what: "does not see its Pod" },
    { kind: { asked: false, reason: "TooMany" }, what: "asks too many" },
  ])("continues with the next activator if one $what", async ({ kind }) => {
    await using lab = await openLab([kind, busy]);
    expect([await lab.ask(), await lab.ask()]).toEqual([503, 503]);
    expect(lab.asked().at(-1)).toBe(0);
  });

  it.each<{ kinds: Kind[]; what: string }>([
    { kinds: [], what: "there is none" },
    { kinds: ["older", "older"], what: "all are of an older release" },
    { kinds: ["away", { asked: false, reason: "NotSeen" }], what: "none can ask it" },
    { kinds: [{ asked: true }], what: "it does not answer them" },
  ])("asks the workload directly if $what", async ({ kinds }) => {
    await using lab = await openLab(kinds);
    expect(await lab.ask()).toBe(204);
  });

  it("does not ask an activator of an older release, or a silent one, again", async () => {
    await using lab = await openLab(["older", busy, busy], { silent: ["run-1"] });
    for (let count = 0; count < 5; count += 1) expect(await lab.ask()).toBe(503);
    const [older, silent] = lab.asked();
    expect(older).toBeLessThanOrEqual(1);
    expect(silent).toBe(0);
  });

  it("asks a Pod that is fenced in no way", async () => {
    await using lab = await openLab([{ asked: false, reason: "Fenced" }]);
    expect(await lab.ask()).toBeUndefined();
    expect(lab.asked()).toEqual([1, 0]);
  });

  it("continues after seven seconds with the next, and after fourteen with the workload itself", async () => {
    const clock = new FakeClock();
    await using lab = await openLab(["hangs", "hangs", "hangs"], { clock });
    let answer: number | undefined;
    void lab.ask().then((status) => {
      answer = status;
    });
    const seconds = async (count: number) => {
      for (let second = 0; second < count; second += 1) await clock.advance(1_000);
    };
    const total = () => lab.asked().reduce((sum, asked) => sum + asked, 0);
    await expect.poll(total).toBe(1);
    await seconds(7);
    await expect.poll(total).toBe(2);
    await seconds(7);
    await asTimePasses(clock, () => expect(answer).toBe(204));
    expect(lab.asked().at(-1)).toBe(1);
  });

  it("ends with its signal", async () => {
    await using lab = await openLab(["hangs"]);
    const stop = new AbortController();
    const asked = lab.ask(stop.signal);
    stop.abort(new Error("no longer the leader"));
    await expect(asked).rejects.toThrow("no longer the leader");
  });
});
