import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { unresponsiveProgram } from "../../test/support/fakes/unresponsive-program.ts";
import {
  type ActivatorWorld,
  heldRequests,
  httpProgram,
  openActivatorWorld,
} from "../../test/support/labs/activator-world.ts";

interface Answer {
  readonly status: number | undefined;
  readonly reason: string | string[] | undefined;
}

/** Asks on a connection of its own. */
function ask({ activator }: ActivatorWorld, name: string, timeoutSeconds: number): Promise<Answer> {
  const headers = { "x-sandbox-id": name, "x-sandbox-timeout": String(timeoutSeconds) };
  return new Promise((resolve, reject) => {
    const asked = request({ port: activator.proxyPort, host: "127.0.0.1", agent: false, headers }, (response) => {
      const { statusCode: status, headers: answered } = response.resume();
      response.on("end", () => resolve({ status, reason: answered["x-rouse-reason"] }));
    });
    asked.on("error", reject).end();
  });
}

const askMany = (world: ActivatorWorld, name: string, count: number, timeoutSeconds: number) =>
  Promise.all(Array.from({ length: count }, () => ask(world, name, timeoutSeconds)));

/** A sandbox that has served, and drops every SYN since. */
async function givenUnresponsive(...flags: readonly string[]): Promise<ActivatorWorld> {
  const world = await openActivatorWorld(flags);
  const { program, stopResponding } = unresponsiveProgram();
  await world.awake("unresponsive", program);
  expect((await ask(world, "unresponsive", 10)).status).toBe(200);
  await stopResponding();
  return world;
}

describe("a request to a running sandbox that drops every dial", () => {
  it("is held and fails within its client's timeout, also with many others", { timeout: 60_000 }, async () => {
    await using world = await givenUnresponsive("--connect-timeout=300s"); // longer than the test takes
    const asked = askMany(world, "unresponsive", 100, 4);
    await eventually(async () => (await heldRequests(world)) === 100);
    const answers = await asked;
    expect(new Set(answers.map(({ status, reason }) => `${status} ${reason}`))).toEqual(new Set(["503 WakeTimedOut"]));
    expect(await heldRequests(world)).toBe(0);
  });

  it("takes a slot of its sandbox; requests beyond the limit are rejected at once", async () => {
    await using world = await givenUnresponsive("--held-max-per-sandbox=5");
    const answers = await askMany(world, "unresponsive", 8, 2);
    const reasons = answers.map(({ reason }) => reason).sort();
    expect(reasons).toEqual([...Array(3).fill("HoldLimitReached"), ...Array(5).fill("WakeTimedOut")]);
  });

  it("delays no request to another sandbox", async () => {
    await using world = await givenUnresponsive();
    const other = httpProgram((_, response) => response.setHeader("Connection", "close").end("awake"));
    await world.awake("other", other);
    const asked = askMany(world, "unresponsive", 100, 4);
    await eventually(async () => (await heldRequests(world)) === 100);
    const answers = await askMany(world, "other", 100, 4);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await asked;
  });

  it("waits for the shared probe after a failed dial, and does not dial by itself", async () => {
    await using world = await givenUnresponsive("--connect-timeout=300ms");
    const asked = askMany(world, "unresponsive", 200, 4);
    const dials = async () => /upstream_retries_total\{[^}]*\} (\d+)/.exec(await world.registry.metrics())?.[1] ?? "0";
    await eventually(async () => Number(await dials()) > 0);
    await asked;
    expect(Number(await dials())).toBeLessThan(100);
  });

  it("fails when this replica exits", async () => {
    await using world = await givenUnresponsive("--shutdown-timeout=100ms");
    const asked = askMany(world, "unresponsive", 3, 4);
    await eventually(async () => (await heldRequests(world)) === 3);
    await world.activator.drain();
    expect((await asked).map(({ reason }) => reason)).toEqual(Array(3).fill("Draining"));
  });
});
