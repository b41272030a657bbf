import { describe, expect, it, vi } from "vitest";
import { controllerOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { assignedSandboxAnnotation } from "../../api/rules/keys.ts";
import { ApiError, ApiUnreachable } from "../../kube/client/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { Intercept, InterceptedCall } from "../../test/support/fakes/intercepted-client.ts";
import { type ClaimLab, openClaimLab } from "../../test/support/labs/claim-lab.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";

const namespace = "default";
const isWrite = ({ verb }: InterceptedCall) => verb !== "get";
const unreachable = () => new ApiUnreachable("no answer");
const refusal = (code: number, reason: string) =>
  new ApiError(code, { apiVersion: "v1", kind: "Status", reason, message: reason });

async function openLabWith(spares: number): Promise<ClaimLab> {
  const lab = await openClaimLab({ kubelet: false });
  await lab.template();
  await lab.pool(spares);
  await Promise.all(Array.from({ length: spares }, (_, at) => lab.spare(`warm-${at}`)));
  return lab;
}

const claimMany = (lab: ClaimLab, count: number) =>
  Promise.all(Array.from({ length: count }, (_, at) => lab.claim(`task-${at}`)));

interface World {
  readonly claims: readonly Stored<SandboxClaim>[];
  readonly sandboxes: readonly Stored<Sandbox>[];
}

async function worldOf({ client }: ClaimLab): Promise<World> {
  const [claims, sandboxes] = await Promise.all([
    client.list(sandboxClaimType, { namespace }),
    client.list(sandboxType, { namespace }),
  ]);
  return { claims: claims.items, sandboxes: sandboxes.items };
}

const ownedBy = ({ sandboxes }: World, claim: Stored<SandboxClaim>) =>
  sandboxes.filter((sandbox) => controllerOf(sandbox)?.uid === claim.metadata.uid).map(({ metadata }) => metadata.name);
const pooledIn = ({ sandboxes }: World) =>
  sandboxes.filter((sandbox) => controllerOf(sandbox)?.kind === "SandboxWarmPool").map(({ metadata }) => metadata.name);

/** What is wrong with a world at rest: nothing when each claim has one sandbox, knows it, and no sandbox is lost. */
function complaints(world: World): readonly string[] {
  const wrong = world.claims.flatMap((claim) => {
    const { name, annotations } = claim.metadata;
    const owned = ownedBy(world, claim);
    const reported = claim.status?.sandbox?.name;
    const assigned = annotations?.[assignedSandboxAnnotation];
    const fine = owned.length === 1 && owned[0] === reported && (assigned === undefined || assigned === reported);
    return fine ? [] : [`${name} has ${owned}, says ${reported}, was assigned ${assigned}`];
  });
  const counted = world.claims.length + pooledIn(world).length;
  const lost = world.sandboxes.length === counted ? [] : [`${world.sandboxes.length} sandboxes, not ${counted}`];
  return [...wrong, ...lost];
}

/** On a bad network a write may fail several times in turn, and each retry waits twice as long as the one before. */
const patience = { timeout: 50_000, interval: 25 };
const limit = { timeout: 60_000 };

const untilInOrder = (lab: ClaimLab, count: number): Promise<World> =>
  vi.waitFor(async () => {
    const world = await worldOf(lab);
    expect(world.claims).toHaveLength(count);
    expect(complaints(world)).toEqual([]);
    return world;
  }, patience);

/** Kills a controller with its so-many-eth write: that write is lost, or only its answer is, and nothing follows. */
function killedAtWrite(at: number, landed: boolean): { readonly intercept: Intercept; readonly killed: Promise<void> } {
  const dead = Promise.withResolvers<void>();
  let writes = 0;
  const intercept: Intercept = async (call, proceed) => {
    if (isWrite(call)) writes += 1;
    if (writes < at) return proceed();
    if (writes === at && landed && isWrite(call)) await proceed();
    dead.resolve();
    throw unreachable();
  };
  return { intercept, killed: dead.promise };
}

describe("a controller that is killed while it serves a claim", () => {
  const readiness = ({ status }: SandboxClaim) => findCondition(status?.conditions, "Ready")?.reason;
  const endOf = (world: World) => ({
    ready: world.claims.map(readiness),
    owned: world.claims.map((claim) => ownedBy(world, claim)),
    pooled: pooledIn(world),
  });

  // Assign, adopt, report, time; for a created sandbox: note, create, report.
  const ways = [
    {
      how: "takes from a pool",
      spares: 2,
      writes: 4,
      end: { ready: ["DependenciesReady"], owned: [["warm-0"]], pooled: ["warm-1"] },
    },
    { how: "makes", spares: 0, writes: 3, end: { ready: ["SandboxNotReady"], owned: [["task"]], pooled: [] } },
  ];
  const deaths = ways.flatMap((way) =>
    Array.from({ length: way.writes }, (_, before) => before + 1).flatMap((at) => [
      { ...way, at, landed: false, last: "never came" },
      { ...way, at, landed: true, last: "was never answered" },
    ]),
  );

  it.each(deaths)("leaves one that it $how to the next: write $at of $writes $last", async (death) => {
    const { spares, writes, at, landed, end } = death;
    await using lab = await openLabWith(spares);
    {
      const { intercept, killed } = killedAtWrite(at, landed);
      await using _first = await lab.startClaims({ intercept });
      await lab.claim("task");
      await killed;
    }
    await using second = await lab.startClaims();
    await vi.waitFor(async () => expect(endOf(await worldOf(lab))).toEqual(end), patience);
    expect(complaints(await worldOf(lab))).toEqual([]);
    expect(second.calls.filter(isWrite).length).toBeLessThanOrEqual(writes);
  });

  it("has no more writes than those", async () => {
    await using warm = await openLabWith(1);
    await using ofWarm = await warm.startClaims();
    await warm.claim("task");
    await warm.untilReady("task");
    await vi.waitFor(() => expect(ofWarm.calls.filter(isWrite)).toHaveLength(4), patience);
    await using cold = await openLabWith(0);
    await using ofCold = await cold.startClaims();
    await cold.claim("task");
    await cold.untilReady("task", { reason: "SandboxNotReady" });
    expect(ofCold.calls.filter(isWrite)).toHaveLength(3);
  });
});

/** A network on which one call in so many fails: refused before, or lost after it succeeded. */
function badNetwork(seed: number, oneIn: number): Intercept {
  const random = seededRandom(seed);
  const failures = [
    { landed: false, error: unreachable },
    { landed: true, error: unreachable },
    { landed: false, error: () => refusal(409, "Conflict") },
    { landed: true, error: () => refusal(409, "Conflict") },
    { landed: false, error: () => refusal(404, "NotFound") },
    { landed: false, error: () => refusal(503, "ServiceUnavailable") },
  ];
  return async (call, proceed) => {
    if (random.below(oneIn) > 0) return proceed();
    const { landed, error } = random.oneOf(failures.filter((failure) => isTrueOf(call, failure.error())));
    if (landed) await proceed();
    throw error();
  };
}

// A server does not say of an object that is there that it is not, nor of one that it makes.
const isTrueOf = ({ verb, kind }: InterceptedCall, error: Error): boolean =>
  !(error instanceof ApiError && error.code === 404) || (verb === "patch" && kind === "Sandbox");

describe("a hundred workers", () => {
  it("give each of many claims a warm sandbox of its own, in as many writes as one claim at a time", async () => {
    await using lab = await openLabWith(50);
    await using claims = await lab.startClaims({ workers: 100 });
    await claimMany(lab, 40);
    const world = await untilInOrder(lab, 40);
    expect(pooledIn(world)).toHaveLength(10);
    await vi.waitFor(() => expect(claims.calls).toHaveLength(40 * 4), patience);
  });

  it("adopt the existing sandboxes and create the rest", async () => {
    await using lab = await openLabWith(5);
    await using _claims = await lab.startClaims({ workers: 100 });
    await claimMany(lab, 20);
    const world = await untilInOrder(lab, 20);
    expect(pooledIn(world)).toEqual([]);
    expect(world.sandboxes.filter(({ metadata }) => metadata.name.startsWith("task-"))).toHaveLength(15);
  });

  it.each([1, 2, 3])("lose and double nothing on a bad network (seed %d)", limit, async (seed) => {
    await using lab = await openLabWith(20);
    await using _claims = await lab.startClaims({ workers: 100, intercept: badNetwork(seed, 4), lagMs: 1 });
    await claimMany(lab, 30);
    await untilInOrder(lab, 30);
  });
});

describe("two controllers that both believe they lead", () => {
  it.each([4, 5, 6])("lose and double nothing, on a bad network and with late news (seed %d)", limit, async (seed) => {
    await using lab = await openLabWith(20);
    await using _one = await lab.startClaims({ workers: 50, intercept: badNetwork(seed, 8), lagMs: 1 });
    await using _other = await lab.startClaims({ workers: 50, intercept: badNetwork(-seed, 8), lagMs: 2 });
    await claimMany(lab, 30);
    await untilInOrder(lab, 30);
  });

  it("lose and duplicate no sandbox when they take over from each other again and again", limit, async () => {
    await using lab = await openLabWith(20);
    const claimed = claimMany(lab, 30);
    for (let seed = 1; seed <= 5; seed += 1) {
      await using _brief = await lab.startClaims({ workers: 50, intercept: badNetwork(seed, 8), lagMs: 1 });
      await systemClock.sleep(30 * seed);
    }
    await claimed;
    await using _last = await lab.startClaims({ workers: 50 });
    await untilInOrder(lab, 30);
  });
});
