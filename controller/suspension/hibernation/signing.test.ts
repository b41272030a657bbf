import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { publicKeysName, publicKeysPart, signingSecretName } from "../../../api/between-programs/memory-keys.ts";
import { configMapType, secretType } from "../../../api/kinds/core.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { Signing } from "./signing.ts";

const namespace = "agent-sandbox-system";
const never = new AbortController().signal;
const permit = {
  ...{ podUID: "u", namespace: "n", podName: "p", sandboxUID: "s" },
  ...{ image: "i", imageHash: "h", runHash: "r", runscVersion: "v" },
};
const waiting = { timeout: 10_000 };

/** Its API server refuses each read of the Secret until `isRefusing` is false. */
async function open(isRefusing = true) {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  const state = { isRefusing, reads: 0 };
  const refusing: KubeClient = Object.assign(Object.create(client), {
    async get(...args: Parameters<KubeClient["get"]>) {
      if (args[0].plural === secretType.plural) state.reads += 1;
      if (state.isRefusing) throw new Error("secrets is forbidden");
      return client.get(...args);
    },
  });
  const warnings: unknown[] = [];
  const log: Logger = { ...silentLogger, warn: (about: object) => warnings.push(about) };
  const clock = new FakeClock();
  const registry = new Registry();
  const signing = new Signing({ client: refusing, clock, log, registry, namespace });
  stack.use(signing.start());
  const opened = stack.move();
  return {
    ...{ client, clock, signing, state, warnings },
    gauge: async () => (await registry.getMetricsAsJSON())[0]?.values[0]?.value,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

it("a key that can be read permits Pods at once", async () => {
  await using world = await open(false);
  await world.signing.untilBegun(never);
  expect(world.signing.sign(permit)).toMatch(/^[A-Za-z0-9+/]{86}==$/);
  expect(await world.gauge()).toBe(1);
});

it("without the key nothing is permitted, a leader waits 5 s for it, and it is read again", async () => {
  await using world = await open();
  const { clock, signing, state } = world;
  let told = 0;
  using _told = signing.onKey(() => (told += 1));
  let hasBegun = false;
  const begun = signing.untilBegun(never).then(() => (hasBegun = true));
  await expect.poll(() => world.warnings.length, waiting).toBe(1);
  await clock.advance(4_900);
  expect(hasBegun).toBe(false);
  await clock.advance(200);
  await begun;
  expect([signing.canSign(), signing.sign(permit), await world.gauge(), told]).toEqual([false, undefined, 0, 0]);
  state.isRefusing = false;
  await clock.advance(60_000);
  await expect.poll(() => signing.canSign(), waiting).toBe(true);
  expect([await world.gauge(), told]).toEqual([1, 1]);
  const { reads } = state;
  await clock.advance(600_000);
  expect(state.reads).toBe(reads);
});

it("a Secret without a key is left alone, and read again: its owner may mend it", async () => {
  await using world = await open();
  const { client, clock, signing, state } = world;
  const metadata = { name: signingSecretName, namespace };
  await client.create(secretType, { apiVersion: "v1", kind: "Secret", metadata, data: {} });
  state.isRefusing = false;
  await clock.advance(60_000);
  await expect.poll(() => world.warnings.length, waiting).toBeGreaterThan(1);
  expect(signing.canSign()).toBe(false);
  await client.delete(secretType, metadata);
  await clock.advance(60_000);
  await expect.poll(() => signing.canSign(), waiting).toBe(true);
});

it("nodes are told the public key again if somebody takes it away", async () => {
  await using world = await open(false);
  await world.signing.untilBegun(never);
  const name = { namespace, name: publicKeysName };
  const told = async () => (await world.client.get(configMapType, name)).data?.[publicKeysPart];
  const first = await told();
  await world.client.delete(configMapType, name);
  await expect.poll(() => world.clock.pending, waiting).toBeGreaterThan(0);
  await world.clock.advance(60_000);
  await expect.poll(() => told().catch(() => undefined), waiting).toBe(first);
  expect(first).toBeDefined();
});
