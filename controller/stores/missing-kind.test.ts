import { expect, it } from "vitest";
import { type SandboxTemplate, sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { failureLimitMs, StoreHealth } from "./store-health.ts";

const template = {
  metadata: { namespace: "default", name: "python" },
  spec: { podTemplate: { spec: { containers: [] } } },
};

/** The store of SandboxTemplates, of an API server that serves the kind or not, as the test says. */
async function given(isServed: boolean) {
  await using stack = new AsyncDisposableStack();
  const served = stack.use(await openMemoryApi());
  const kinds = servedKinds().filter(({ type }) => type.plural !== sandboxTemplateType.plural);
  const without = stack.use(await openMemoryApi({ kinds }));
  const now = { api: isServed ? served : without, changes: new AbortController() };
  const client: KubeClient = {
    ...served.client,
    list: (type, options, signal) => now.api.client.list(type, options, signal),
    async *watch(type, options, signal) {
      const { changes } = now;
      try {
        yield* now.api.client.watch(type, options, AbortSignal.any([signal, changes.signal]));
      } catch (error) {
        if (!changes.signal.aborted) throw error;
      }
    },
  };
  await served.client.create(sandboxTemplateType, template);
  const clock = new FakeClock();
  const templates = stack.use(
    startInformer<SandboxTemplate>({ client, clock, log: silentLogger, type: sandboxTemplateType, indexes: {} }),
  );
  const parts = { clock, log: silentLogger, elects: true, converts: false };
  const health = new StoreHealth({ ...parts, core: [], extensions: [templates] });
  const closing = stack.move();
  return {
    clock,
    templates,
    health,
    /** The kind is served from now on, or no longer; all watches end. */
    change(isServed: boolean) {
      now.changes.abort();
      Object.assign(now, { api: isServed ? served : without, changes: new AbortController() });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

it("a replica stands for election at once without a kind that is not served, and uses it once it is", async () => {
  await using world = await given(false);
  const { clock, health, templates } = world;
  const stop = new AbortController();
  let isFit = false;
  void health.untilFit(stop.signal).then(() => {
    isFit = true;
  });
  await expect.poll(() => templates.trouble()?.is).toBe("missing");
  await clock.advance(1_000);
  await expect.poll(() => isFit).toBe(true);
  expect(health.seesExtensions()).toBe(false);
  world.change(true);
  await asTimePasses(clock, () => expect(health.seesExtensions()).toBe(true));
  stop.abort();
});

it("a leader stays while a kind is not served, keeps its objects, and goes on once it is served again", async () => {
  await using world = await given(true);
  const { clock, health, templates } = world;
  await templates.synced;
  health.useExtensions();
  world.change(false);
  await asTimePasses(clock, () => expect(templates.trouble()?.is).toBe("missing"));
  for (let passedMs = 0; passedMs < 2 * failureLimitMs; passedMs += 10_000) await clock.advance(10_000);
  expect(templates.silentMs()).toBeGreaterThan(failureLimitMs);
  expect(health.reasonToYield()).toBeUndefined();
  expect(templates.store.size).toBe(1);
  world.change(true);
  await asTimePasses(clock, () => expect(templates.trouble()).toBeUndefined());
  expect(templates.store.size).toBe(1);
});
