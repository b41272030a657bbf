import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import { injectFault } from "../sleep/inject-fault.ts";
import { phases } from "../sleep/phases.ts";
import { account, answeredOnce } from "../sleep/promises.ts";
import { TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";

const graceMs = 2_000;
let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.open({
    activators: 3,
    controllerFlags: [`--activator-vanish-grace=${graceMs}ms`],
    podTimes: (name) => ({ scheduleMs: 5, startMs: name.startsWith("slow") ? 1_500 : 5, endMs: 5 }),
  });
});
afterAll(() => bed[Symbol.asyncDispose]());

function replica(index: number): ActivatorReplica {
  const found = bed.activators[index];
  if (!found) throw new Error(`there is no activator ${index}`);
  return found;
}

const autoSuspension = { inactivityTimeoutSeconds: 1 };
const many = Array.from({ length: 20 }, (_, index) => index);

/** Each request through a killed replica was executed at most once. */
async function expectNoneTwice(accounts: Promise<readonly { readonly executions: readonly string[] }[]>) {
  for (const { executions } of await accounts) expect(executions.length).toBeLessThanOrEqual(1);
}

it("killing an activator that holds requests does not affect requests that others hold", async () => {
  const sandbox = "slow-held";
  await bed.create(sandbox, { autoSuspension, operatingMode: "Suspended" });
  await bed.untilAsleep(sandbox);
  const doomed = Promise.all(many.map(() => account(replica(0), bed.node.ledger, { sandbox, body: "a" })));
  const spared = [1, 2].flatMap((index) =>
    many.map(() => answeredOnce(replica(index), bed.node.ledger, { sandbox, body: "b" })),
  );
  await eventually(async () => (await bed.sandbox(sandbox)).spec.operatingMode === "Running");
  await replica(0).kill();
  await Promise.all(spared);
  await expectNoneTwice(doomed);
  await replica(0).start();
  await answeredOnce(replica(0), bed.node.ledger, { sandbox });
  await bed.untilAsleep(sandbox);
});

it("killing an activator that proxies cuts no request of another one, and the sandbox is suspended later", async () => {
  const sandbox = "proxied";
  await bed.create(sandbox, { autoSuspension });
  await answeredOnce(replica(1), bed.node.ledger, { sandbox });
  const before = bed.node.ledger.size;
  const doomed = Promise.all(
    many.map(() => account(replica(0), bed.node.ledger, { sandbox, afterMs: 3_000, body: "a" })),
  );
  const spared = many.map(() => answeredOnce(replica(1), bed.node.ledger, { sandbox, afterMs: 8_000, body: "b" }));
  await eventually(() => bed.node.ledger.size === before + 2 * many.length);
  const killed = replica(0).kill();
  // The grace and the idle time are both over long before these responses.
  await Promise.all([killed, ...spared]);
  await expectNoneTwice(doomed);
  await bed.untilAsleep(sandbox);
  await replica(0).start();
});

const during = phases.filter(({ about }) =>
  ["before the activators are asked", "with the seal on its way", "before the activators promise"].includes(about),
);

it.each(during)("killing an activator $about blocks no suspension and no response", async (phase) => {
  const sandbox = `asked-${phase.about.replaceAll(" ", "-")}`;
  const injected = injectFault(bed, phase, sandbox, () => replica(2).kill());
  await bed.create(sandbox, { autoSuspension });
  await injected;
  await answeredOnce(replica(1), bed.node.ledger, { sandbox, body: "now" });
  await bed.untilAsleep(sandbox, 60_000);
  await replica(2).start();
  await answeredOnce(replica(2), bed.node.ledger, { sandbox, body: "again" });
});

it("an open connection under Count keeps its sandbox awake while the other activators restart or go", async () => {
  const sandbox = "counted";
  await bed.create(sandbox, { autoSuspension: { ...autoSuspension, openConnections: "Count" } });
  await answeredOnce(replica(1), bed.node.ledger, { sandbox });
  const { host, port } = replica(1);
  const headers = { "x-sandbox-id": sandbox };
  const socket = new WebSocket(`ws://${host}:${port}/`, { headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await replica(0).kill();
  await replica(2).remove();
  await replica(0).start();
  // Longer than the grace and several idle times.
  await new Promise((resolve) => setTimeout(resolve, graceMs + 8_000));
  expect(socket.readyState).toBe(WebSocket.OPEN);
  const echoed = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
  socket.send("still there");
  expect(await echoed).toBe("still there");
  expect((await bed.sandbox(sandbox)).metadata.generation).toBe(1);
  socket.close();
  await closed;
  await bed.untilAsleep(sandbox);
});

it("an activator that hangs keeps sandboxes awake, delays no request, and lets a manual suspension end", async () => {
  const sandbox = "stuck";
  const drained = { ...autoSuspension, drainTimeoutSeconds: 2 };
  await bed.create(sandbox, { autoSuspension: drained });
  await answeredOnce(replica(1), bed.node.ledger, { sandbox });
  await answeredOnce(replica(0), bed.node.ledger, { sandbox });
  replica(0).program.pause();
  const { generation } = (await bed.sandbox(sandbox)).metadata;
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const { metadata } = await bed.sandbox(sandbox);
  // An intent from before it hung may have been cancelled; no suspension was completed.
  expect(metadata.generation ?? 0).toBeLessThanOrEqual((generation ?? 0) + 2);
  await answeredOnce(replica(1), bed.node.ledger, { sandbox, body: "meanwhile" });
  await bed.change(sandbox, { operatingMode: "Suspended" });
  await bed.untilAsleep(sandbox, 12_000);
  await answeredOnce(replica(1), bed.node.ledger, { sandbox, body: "and on" });
  replica(0).program.goOn();
  await answeredOnce(replica(0), bed.node.ledger, { sandbox, body: "back" });
  await bed.untilAsleep(sandbox, 60_000);
});
