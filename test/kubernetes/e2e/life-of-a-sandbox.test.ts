import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { findActivator, type InstalledActivator } from "./support/installed-activator.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { noticedMs } from "./support/traffic.ts";

const example = join(import.meta.dirname, "..", "..", "..", "examples", "hello");

let cluster: ClusterUnderTest;
let activator: InstalledActivator;
beforeAll(async () => {
  cluster = await connectToCluster();
  activator = await findActivator(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

it("is suspended, woken by a connection, paused, woken by a WebSocket, and always keeps its files", async () => {
  await using test = await openSandboxes(cluster);
  const hello = test.at("hello");
  await test.run("apply", "--kustomize", example);
  await test.untilAsleep("hello");
  expect(await test.podOf("hello")).toBeUndefined();

  // The program itself answers the first request, and no request was retried.
  const first = await activator.ask(hello, { method: "POST", path: "/counter" });
  expect(first).toMatchObject({ status: 200, reason: undefined, body: '{"count":1}\n' });
  expect(first.tookMs).toBeLessThan(30_000);
  await test.run("wait", "sandbox/hello", "--for=condition=Ready", "--timeout=60s");
  const firstPod = await test.podOf("hello");
  const warm = await activator.ask(hello, { method: "POST", path: "/counter" });
  expect(warm).toMatchObject({ status: 200, body: '{"count":2}\n' });
  expect(warm.tookMs).toBeLessThan(noticedMs);

  await test.pause("hello");
  await test.untilAsleep("hello");
  expect(await test.podOf("hello")).toBeUndefined();
  expect(await test.condition("hello", "Ready")).toMatchObject({ status: "False", reason: "SandboxSuspended" });

  const socket = await activator.openWebSocket(hello, "/ws");
  socket.send("are you awake?");
  const [said] = (await once(socket, "message")) as [Buffer];
  expect(said.toString()).toBe("are you awake?");
  expect((await test.podOf("hello"))?.metadata.uid).not.toBe(firstPod?.metadata.uid);
  const counted = await activator.ask(hello, { path: "/counter" });
  expect(counted).toMatchObject({ status: 200, body: '{"count":2}\n' });

  // A client with an open WebSocket sees it close at a manual suspension.
  const closed = once(socket, "close");
  await test.pause("hello");
  await closed;
  await test.untilAsleep("hello");

  const told = ["SandboxSuspended", "SandboxPodCreated", "SandboxReady"];
  await eventually(async () => new Set(told).isSubsetOf(new Set(await test.eventReasons("Sandbox", "hello"))));
});

it("requires the chart's token before it wakes anything", async () => {
  await using test = await openSandboxes(cluster);
  await test.run("apply", "--kustomize", example);
  await test.untilAsleep("hello");
  const refused = await activator.ask(test.at("hello"), { headers: { authorization: "Bearer guessed" } });
  expect(refused).toMatchObject({ status: 401, reason: "WrongToken" });
  expect((await test.sandbox("hello")).spec.operatingMode).toBe("Suspended");
});

it("is woken once by many requests, and answers each of them once", async () => {
  await using test = await openSandboxes(cluster);
  await test.apply(sandboxNamed("crowd"));
  await test.untilAsleep("crowd");
  const { generation } = (await test.sandbox("crowd")).metadata;
  const crowd = Array.from({ length: 100 }, () => activator.askProgram(test.at("crowd"), { method: "POST" }));
  const answers = await Promise.all(crowd);
  expect(new Set(answers.map(({ boot }) => boot)).size).toBe(1);
  expect(answers.map(({ asked }) => asked).sort((a, b) => a - b)).toEqual(answers.map((_, at) => at + 1));
  await eventually(async () => (await test.condition("crowd", "Ready"))?.status === "True");
  expect((await test.sandbox("crowd")).metadata.generation).toBe((generation ?? 0) + 1);
});
