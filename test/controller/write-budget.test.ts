import { expect, it, vi } from "vitest";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { InterceptedCall } from "../support/fakes/intercepted-client.ts";
import { type ClaimLab, type LabController, openClaimLab } from "../support/labs/claim-lab.ts";
import { waiting } from "../support/waiting.ts";

// The allowed writes for each operation, counted over all controllers of the process.

interface Written {
  readonly lab: ClaimLab;
  readonly controller: LabController;
}

/** Waits until the controller has been idle for a while, and returns its writes since `from` as short texts. */
async function writesSince({ controller }: Written, from: number): Promise<readonly string[]> {
  for (let seen = -1; seen !== controller.calls.length; ) {
    seen = controller.calls.length;
    await systemClock.sleep(150);
  }
  return controller.calls
    .slice(from)
    .filter(({ verb }) => verb !== "get")
    .map(inShort);
}

const inShort = ({ verb, kind, subresource }: InterceptedCall): string =>
  [verb, kind, ...(subresource ? [subresource] : [])].join(" ");

function counted(writes: readonly string[]): Readonly<Record<string, number>> {
  const groups = Object.entries(Object.groupBy(writes, (write) => write));
  return Object.fromEntries(groups.map(([write, all = []]) => [write, all.length]));
}

const eventsOf = ({ calls }: LabController): number =>
  calls.filter(({ verb, kind }) => verb === "create" && kind === "Event").length;

async function openFull(replicas: number) {
  const lab = await openClaimLab();
  const controller = await lab.startController();
  await lab.template();
  await lab.pool(replicas);
  await vi.waitFor(async () => {
    const pool = await lab.get(sandboxWarmPoolType, "pool");
    expect(pool?.status?.readyReplicas).toBe(replicas);
  }, waiting);
  return { lab, controller, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

it("a member of a pool costs two creations and a status, and nothing once it runs", async () => {
  const members = 10;
  await using full = await openFull(members);
  // Events have low priority, so they may come some time after the changes that they report.
  await vi.waitFor(() => expect(eventsOf(full.controller)).toBe(2 * members), waiting);
  const { "patch Sandbox status": statuses = 0, ...writes } = counted(await writesSince(full, 0));
  expect(writes).toMatchObject({ "create Sandbox": members, "create Pod": members });
  // Each status is written once as Ready, and on a slow machine before that as not ready.
  expect(statuses).toBeGreaterThanOrEqual(members);
  expect(statuses).toBeLessThanOrEqual(3 * members);
  expect(writes["patch SandboxWarmPool status"]).toBeLessThanOrEqual(2 * members + 1);
  expect(writes["create Event"]).toBe(2 * members); // SandboxPodCreated, SandboxReady
  const others = ["create Sandbox", "create Pod", "patch SandboxWarmPool status", "create Event"];
  // The template's label and its NetworkPolicy, once for all, and the first owners of the policy.
  expect(Object.keys(writes).filter((write) => !others.includes(write))).toEqual([
    "patch SandboxTemplate",
    "create NetworkPolicy",
    "replace NetworkPolicy",
  ]);
  expect(writes["replace NetworkPolicy"]).toBeLessThanOrEqual(8);
});

it("a claim of a warm sandbox costs six writes and an event, of which three are its own", async () => {
  await using full = await openFull(1);
  await vi.waitFor(() => expect(eventsOf(full.controller)).toBe(2), waiting);
  await writesSince(full, 0);
  const from = full.controller.calls.length;
  await full.lab.claim("task");
  const claim = await full.lab.untilReady("task");
  const adopted = claim.status?.sandbox?.name ?? "";
  // SandboxAdopted, and two events of the sandbox that replaces it.
  await vi.waitFor(() => expect(eventsOf(full.controller)).toBe(5), waiting);
  await writesSince(full, from);
  const ofClaim = full.controller.calls
    .slice(from)
    .filter(({ verb, name }) => verb !== "get" && (name === "task" || name === adopted || name.startsWith("task.")));
  const writes = counted(ofClaim.map(inShort));
  expect(writes).toEqual({
    "patch SandboxClaim": 2, // assigned, with the recorded times; timed
    "patch SandboxClaim status": 1,
    "patch Sandbox": 1,
    "patch Sandbox status": 1, // the generation of the adoption
    "patch Pod": 1,
    "create Event": 1,
  });
});
