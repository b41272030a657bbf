import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventType } from "../../../api/kinds/core.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { findActivator, type InstalledActivator } from "../e2e/support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "../e2e/support/sandboxes.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";

const example = join(import.meta.dirname, "..", "..", "..", "examples", "hello");
const timeoutSeconds = 5;

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

type Sandboxes = Awaited<ReturnType<typeof openSandboxes>>;

/** The example, with an idle time of a few seconds. */
async function applyHello({ run }: Sandboxes, openConnections: "Count" | "Data" | "Ignore"): Promise<void> {
  await run("apply", "--kustomize", example);
  const autoSuspension = { inactivityTimeoutSeconds: timeoutSeconds, openConnections };
  await run("patch", "sandbox", "hello", "--type=merge", `--patch=${JSON.stringify({ spec: { autoSuspension } })}`);
}

async function eventNotes({ namespace }: Sandboxes, reason: string): Promise<readonly (string | undefined)[]> {
  const { items } = await cluster.client.list(eventType, { namespace });
  return items.filter((event) => event.reason === reason).map(({ note }) => note);
}

describe.concurrent("a sandbox with an inactivity timeout", () => {
  it("is suspended when idle, reports since when, and one connection wakes it without loss", async () => {
    await using test = await openSandboxes(cluster);
    const hello = test.at("hello");
    await applyHello(test, "Data");
    const count = () => activator.ask(hello, { method: "POST", path: "/counter" });
    expect(await count()).toMatchObject({ status: 200, body: '{"count":1}\n' });
    await eventually(async () => (await test.sandbox("hello")).status?.lastActivityTime !== undefined);
    await test.untilAsleep("hello");
    expect(await test.podOf("hello")).toBeUndefined();
    await eventually(async () => /^idle for \d+s$/.test(`${await eventNotes(test, "SandboxIdle")}`));
    const [heads = "", cells = ""] = (await test.run("get", "sandbox", "hello", "-o", "wide")).split("\n");
    expect(heads).toMatch(/MODE +LAST ACTIVITY +NEXT SUSPENSION/);
    expect(cells).toMatch(/Suspended +\d+s/);

    expect(await count()).toMatchObject({ status: 200, reason: undefined, body: '{"count":2}\n' });
    await eventually(async () => (await eventNotes(test, "SandboxWoken")).includes("woken through port 8888"));
  });

  it("is not suspended during a request that takes longer than the timeout", async () => {
    await using test = await openSandboxes(cluster);
    const autoSuspension = { inactivityTimeoutSeconds: timeoutSeconds };
    await test.apply(sandboxNamed("busy", { spec: { autoSuspension } }));
    await test.untilAsleep("busy");
    const { boot } = await activator.askProgram(test.at("busy"));
    const long = await activator.askProgram(test.at("busy"), { method: "POST", path: "/?after=17000" });
    expect(long).toMatchObject({ boot, asked: 2 });
    const endedMs = systemClock.ticksMs();
    await test.untilAsleep("busy");
    expect(systemClock.ticksMs() - endedMs).toBeGreaterThan(timeoutSeconds * 1_000 - 500);
  });

  it("is suspended under an idle WebSocket, which is closed cleanly", async () => {
    await using test = await openSandboxes(cluster);
    await applyHello(test, "Data");
    const socket = await activator.openWebSocket(test.at("hello"), "/ws");
    const pings = setInterval(() => socket.ping(), 1_000);
    const [code] = (await once(socket, "close")) as [number];
    clearInterval(pings);
    expect(code).toBe(1001);
    await test.untilAsleep("hello");
  });

  it("stays awake under a WebSocket with traffic", async () => {
    await using test = await openSandboxes(cluster);
    await applyHello(test, "Data");
    await expectAwakeUnder(test, { saying: true });
  });

  it("stays awake under any open WebSocket with openConnections Count", async () => {
    await using test = await openSandboxes(cluster);
    await applyHello(test, "Count");
    await expectAwakeUnder(test, { saying: false });
  });

  it("is suspended under a WebSocket with traffic with openConnections Ignore", async () => {
    await using test = await openSandboxes(cluster);
    await applyHello(test, "Ignore");
    const socket = await activator.openWebSocket(test.at("hello"), "/ws");
    const talk = setInterval(() => socket.send("still here"), 500);
    await once(socket, "close");
    clearInterval(talk);
    await test.untilAsleep("hello");
  });
});

/** Waits three times the idle time, and for the suspension after the WebSocket is closed. */
async function expectAwakeUnder(test: Sandboxes, { saying }: { readonly saying: boolean }): Promise<void> {
  const socket = await activator.openWebSocket(test.at("hello"), "/ws");
  let ended = false;
  socket.once("close", () => {
    ended = true;
  });
  const pod = await test.podOf("hello");
  const endMs = systemClock.ticksMs() + timeoutSeconds * 3_000;
  while (systemClock.ticksMs() < endMs) {
    if (saying) socket.send("still here");
    await systemClock.sleep(1_000);
  }
  expect(ended).toBe(false);
  expect((await test.podOf("hello"))?.metadata.uid).toBe(pod?.metadata.uid);
  socket.close();
  await test.untilAsleep("hello");
}
