import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import type { KubeClient, WatchOptions } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { NodeLab } from "../../test/support/labs/node-lab.ts";
import { canMountDisks, mountSmallDisk } from "../../test/support/labs/small-disk.ts";
import { parseAgentConfig } from "./config/config.ts";
import { startAgent } from "./start-agent.ts";

const quietClient = (clock: FakeClock) =>
  ({
    async list() {
      return { items: [], metadata: { resourceVersion: "1" } };
    },
    async *watch(_type: unknown, { onOpen }: WatchOptions, signal: AbortSignal) {
      yield* [];
      onOpen?.();
      await clock.sleep(1_000_000, signal);
    },
  }) as unknown as KubeClient;

const flagsOf = (lab: NodeLab) => [
  ...["--node-name=node-1", "--namespace=rouse", `--store=${lab.storeRoot}`, "--metrics-bind-address=0"],
  "--health-probe-bind-address=127.0.0.1:0",
];

it("an agent whose disk keeps each look for ever is not ready", async () => {
  await using lab = new NodeLab();
  const clock = new FakeClock();
  const parts = { client: quietClient(clock), clock, log: silentLogger, registry: new Registry() };
  await using agent = await startAgent(parseAgentConfig(flagsOf(lab)), parts);
  const ended = agent.failed.catch(() => {});
  const status = async () => (await fetch(`${agent.healthUrl}/readyz`)).status;
  await vi.waitFor(async () => expect(await status()).toBe(200), 5_000);
  const file = lab.path("store.json");
  rmSync(file);
  execFileSync("mkfifo", [file]); // opening it for reading waits
  for (let passedMs = 0; passedMs < 60_000; passedMs += 500) await clock.advance(500);
  expect(await status()).toBe(503);
  writeFileSync(file, "{}"); // it is another store now
  await ended;
});

it("an agent that does not reach the API server for a while is not ready until it does", async () => {
  await using lab = new NodeLab();
  const clock = new FakeClock();
  const server = { isAway: false };
  const reach = () => {
    if (server.isAway) throw new Error("connect ETIMEDOUT");
  };
  const client = {
    async list() {
      reach();
      return { items: [], metadata: { resourceVersion: "1" } };
    },
    async *watch(_type: unknown, { onOpen }: WatchOptions, signal: AbortSignal) {
      yield* [];
      reach();
      onOpen?.();
      await clock.sleep(10_000, signal);
      reach();
    },
  } as unknown as KubeClient;
  await using agent = await startAgent(parseAgentConfig(flagsOf(lab)), {
    client,
    clock,
    log: silentLogger,
    registry: new Registry(),
  });
  const status = async () => (await fetch(`${agent.healthUrl}/readyz`)).status;
  await vi.waitFor(async () => expect(await status()).toBe(200), 5_000);
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 500) await clock.advance(500);
  };
  server.isAway = true;
  await pass(45_000);
  expect(await status()).toBe(503);
  server.isAway = false;
  await pass(10_000);
  expect(await status()).toBe(200);
});

it.runIf(canMountDisks)("an agent starts on a disk that became read-only in the middle of a write", async () => {
  await using disk = await mountSmallDisk(16);
  await using lab = new NodeLab(disk.path);
  for (const folder of ["images", "tombstones"]) mkdirSync(lab.path(folder), { recursive: true });
  writeFileSync(lab.path("tombstones", "5a0d0b0c-0000-4000-8000-000000000002.json.agent.new"), "{");
  await disk.makeReadOnly();
  const clock = new FakeClock();
  const parts = { client: quietClient(clock), clock, log: silentLogger, registry: new Registry() };
  await using agent = await startAgent(parseAgentConfig(flagsOf(lab)), parts);
  const isReady = vi.waitFor(async () => expect((await fetch(`${agent.healthUrl}/readyz`)).status).toBe(200), 5_000);
  await Promise.race([isReady, agent.failed]);
});
