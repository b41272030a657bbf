import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type ActivatorWorld, heldRequests, httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";

const why = 'Error seen: pods "nova" is forbidden: exceeded quota: q';

const ask = async ({ activator }: ActivatorWorld, headers: Record<string, string> = {}) => {
  const response = await fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova", ...headers } });
  return { status: response.status, reason: response.headers.get("x-rouse-reason"), text: await response.text() };
};

/** A sandbox that a connection has woken and that gets no Pod. */
async function withoutRoom(world: ActivatorWorld) {
  const program = httpProgram((_, response) => response.end("awake"));
  world.kubelet.refuse("nova", why);
  await world.asleep("nova", program);
  return ask(world);
}

describe("a connection to a sandbox whose quota is full", () => {
  it("fails at once if it came before its Pod was rejected", async () => {
    await using world = await openActivatorWorld();
    expect(await withoutRoom(world)).toMatchObject({ status: 503, reason: "QuotaExceeded" });
  });

  it("waits for the next attempt if it came after the last, and is served when there is room", async () => {
    await using world = await openActivatorWorld();
    await withoutRoom(world);
    const answer = ask(world);
    await eventually(async () => (await heldRequests(world)) === 1);
    world.kubelet.createRefusedPods("nova");
    expect(await answer).toMatchObject({ status: 200, text: "awake" });
  });

  it("fails with the reason if it may not wait until the next attempt", async () => {
    await using world = await openActivatorWorld();
    await withoutRoom(world);
    expect(await ask(world, { "X-Sandbox-Timeout": "1" })).toMatchObject({ status: 503, reason: "QuotaExceeded" });
  });
});
