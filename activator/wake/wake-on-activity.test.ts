import { describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { suspensionCauseAnnotation } from "../../api/rules/keys.ts";
import { inactivityAt } from "../../api/rules/suspension.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { createLogger } from "../../lib/log/log.ts";
import { type Clock, FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { type Intercept, interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { PodFences } from "../activity/pod-fences.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { WakeOnActivity } from "./wake-on-activity.ts";
import { Waker } from "./waker.ts";

const letPass: Intercept = (_, proceed) => proceed();

const nova = { namespace: "default", name: "nova" };

async function openLab({ intercept = letPass, clock = systemClock }: { intercept?: Intercept; clock?: Clock } = {}) {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const lines: Record<string, unknown>[] = [];
  const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const parts = { client: api.client, clock: systemClock, log };
  const { metadata } = await api.client.create(sandboxType, aSandbox("nova"));
  const cluster = opened.use(startCluster(parts));
  const fences = new PodFences({ onFenced: () => {}, hasPod: () => false });
  const woken: number[] = [];
  const onWoken = (_: unknown, port: number) => woken.push(port);
  const waker = new Waker(interceptCalls(api.client, intercept), {
    rate: { perSecond: 100, burst: 100 },
    clock: systemClock,
  });
  const wakeOnActivity = opened.use(new WakeOnActivity({ ...parts, clock, cluster, fences, waker, onWoken }));
  await eventually(() => cluster.synced);
  const seen = () => cluster.sandbox(nova.namespace, nova.name);
  const closing = opened.move();
  return {
    ...{ fences, wakeOnActivity, woken, uid: metadata.uid, seen, lines },
    async wake() {
      const sandbox = seen();
      return sandbox && waker.wake(sandbox, new AbortController().signal);
    },
    mode: async () => (await api.client.get(sandboxType, nova)).spec.operatingMode,
    async replace() {
      await api.client.delete(sandboxType, nova);
      await api.client.create(sandboxType, aSandbox("nova"));
    },
    async suspend(cause: "Inactivity" | "Person") {
      const annotations = cause === "Inactivity" ? { [suspensionCauseAnnotation]: inactivityAt(2) } : {};
      const body = { metadata: { annotations }, spec: { operatingMode: "Suspended" } };
      await api.client.patch(sandboxType, nova, { type: "merge", body });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const connection = { ...nova, port: 5432 };

describe("data on an open connection", () => {
  it("cancels an inactivity suspension", async () => {
    await using lab = await openLab();
    await lab.suspend("Inactivity");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    lab.wakeOnActivity.moved(connection);
    lab.wakeOnActivity.moved(connection);
    await eventually(async () => (await lab.mode()) === "Running");
    await eventually(() => lab.woken.length > 0);
    expect(lab.woken).toEqual([5432]);
  });

  it("does not record the wake of another caller", async () => {
    await using lab = await openLab();
    await lab.suspend("Inactivity");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    const wake = lab.wake();
    lab.wakeOnActivity.moved(connection);
    expect(await wake).toMatchObject({ mine: true });
    await new Promise(setImmediate); // both heard the same answer
    expect(lab.woken).toEqual([]);
  });

  it("cancels a reported suspension as soon as it is seen", async () => {
    await using lab = await openLab();
    lab.fences.reported(lab.uid, 2, 1);
    lab.wakeOnActivity.moved(connection);
    await lab.suspend("Inactivity");
    await eventually(() => lab.woken.length > 0);
    expect(await lab.mode()).toBe("Running");
  });

  it("does not cancel a manual suspension", async () => {
    await using lab = await openLab();
    await lab.suspend("Person");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    lab.wakeOnActivity.moved(connection);
    await lab.wakeOnActivity[Symbol.asyncDispose](); // waits for what it does
    expect(await lab.mode()).toBe("Suspended");
    expect(lab.woken).toEqual([]);
  });

  it("wakes no other sandbox that takes the name of the suspended one", async () => {
    await using lab = await openLab();
    lab.fences.reported(lab.uid, 2, 1);
    lab.wakeOnActivity.moved(connection);
    await lab.replace();
    await eventually(() => lab.seen() !== undefined && lab.seen()?.metadata.uid !== lab.uid);
    await lab.suspend("Inactivity");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    await lab.wakeOnActivity[Symbol.asyncDispose](); // waits for what it does
    expect(await lab.mode()).toBe("Suspended");
    expect([lab.woken, lab.lines]).toEqual([[], []]);
  });

  it("gives up after ten seconds if the reported suspension is not seen", async () => {
    const clock = new FakeClock();
    await using lab = await openLab({ clock });
    lab.fences.reported(lab.uid, 2, 1);
    lab.wakeOnActivity.moved(connection);
    await clock.advance(9_999);
    expect(lab.lines).toEqual([]);
    await clock.advance(1);
    await eventually(() => lab.lines.length > 0);
    expect(lab.lines).toMatchObject([
      { err: { message: "the sandbox was not resumed within 10000 ms" }, name: "nova" },
    ]);
  });

  it("logs one line a minute about a sandbox that may not be resumed", async () => {
    let asked = 0;
    const deny: Intercept = async () => {
      asked += 1;
      throw new ApiError(403, {
        apiVersion: "v1",
        kind: "Status",
        reason: "Forbidden",
        message: "a policy forbids it",
      });
    };
    await using lab = await openLab({ intercept: deny });
    await lab.suspend("Inactivity");
    await eventually(() => lab.seen()?.spec.operatingMode === "Suspended");
    await eventually(() => {
      lab.wakeOnActivity.moved(connection);
      return asked >= 5;
    });
    await lab.wakeOnActivity[Symbol.asyncDispose](); // waits for what it does
    expect(lab.lines).toMatchObject([
      {
        msg: "could not cancel a suspension after data on an open connection; trying again at the next data",
        name: "nova",
      },
    ]);
  });
});
