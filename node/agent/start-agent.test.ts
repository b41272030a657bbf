import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import type { KubeClient, WatchOptions } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { NodeLab } from "../../test/support/labs/node-lab.ts";
import { parseAgentConfig } from "./config/config.ts";
import { startAgent } from "./start-agent.ts";

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
  const flags = ["--node-name=node-1", "--namespace=rouse", `--store=${lab.storeRoot}`, "--metrics-bind-address=0"];
  const config = parseAgentConfig([...flags, "--health-probe-bind-address=127.0.0.1:0"]);
  await using agent = await startAgent(config, { client, clock, log: silentLogger, registry: new Registry() });
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
