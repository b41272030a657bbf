import { describe, expect, it } from "vitest";
import { type SandboxSpec, sandboxType } from "../../api/kinds/sandbox.ts";
import { ApiUnreachable } from "../../kube/client/errors.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { type ActivatorWorld, heldRequests, httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";

const nova = { namespace: "default", name: "nova" };
const program = httpProgram((_, response) => response.end("awake"));

async function ask({ activator }: ActivatorWorld, name = "nova") {
  const response = await fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": name } });
  return { status: response.status, reason: response.headers.get("x-rouse-reason") };
}

/** The API server fails every patch of the activator. */
async function openWithoutPatches() {
  let failed = 0;
  const world = await openActivatorWorld(
    [],
    {},
    {
      clientOf: ({ client }) =>
        interceptCalls(client, async ({ verb }, proceed) => {
          if (verb !== "patch") return proceed();
          failed += 1;
          throw new ApiUnreachable("too many requests");
        }),
    },
  );
  return { world, failed: () => failed };
}

const change = ({ api }: ActivatorWorld, spec: Partial<SandboxSpec>) =>
  api.client.patch(sandboxType, nova, { type: "merge", body: { spec } });

describe("a held request whose wake the API server fails", () => {
  it("is proxied once another client has woken the sandbox, and no patch is sent after that", async () => {
    const { world, failed } = await openWithoutPatches();
    await using _world = world;
    await world.asleep("nova", program);
    const held = ask(world);
    await eventually(() => failed() > 0);
    await change(world, { operatingMode: "Running" });
    expect([await held, await ask(world)]).toEqual([
      { status: 200, reason: null },
      { status: 200, reason: null },
    ]);
    const tried = failed();
    await systemClock.sleep(1_500); // longer than the pause between two attempts
    expect(failed()).toBe(tried);
  });

  it("fails at once when the sandbox is deleted", async () => {
    const { world, failed } = await openWithoutPatches();
    await using _world = world;
    await world.asleep("nova", program);
    const held = ask(world);
    await eventually(() => failed() > 0);
    await world.api.client.delete(sandboxType, nova);
    expect(await held).toEqual({ status: 410, reason: "SandboxDeleted" });
  });

  it("fails at once when the time of the sandbox is over", async () => {
    const { world, failed } = await openWithoutPatches();
    await using _world = world;
    const shutdownTime = new Date(systemClock.now().getTime() + 4_000).toISOString();
    await world.asleep("nova", program, { shutdownTime });
    const held = ask(world);
    await eventually(() => failed() > 0);
    expect(await held).toMatchObject({ reason: "SandboxExpired" });
  });
});

describe("a held request whose wake waits in the queue of its namespace", () => {
  it("is proxied once another client has woken the sandbox, and leaves its place to the next", async () => {
    await using world = await openActivatorWorld(["--wakes-per-second=0.2", "--wakes-burst=1"]);
    for (const name of ["first", "nova", "third"]) await world.asleep(name, program);
    await ask(world, "first");
    const beganMs = systemClock.ticksMs();
    const held = ask(world);
    await eventually(async () => (await heldRequests(world)) === 1);
    const third = ask(world, "third");
    await eventually(async () => (await heldRequests(world)) === 2);
    await change(world, { operatingMode: "Running" });
    expect(await held).toEqual({ status: 200, reason: null });
    expect(await third).toEqual({ status: 200, reason: null });
    expect(systemClock.ticksMs() - beganMs).toBeLessThan(9_000); // its own place was due after 10 s
  });
});
