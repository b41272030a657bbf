import { describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  heldRequests,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";

const nova = { namespace: "default", name: "nova" };

async function ask({ activator }: ActivatorWorld, headers: Record<string, string> = {}) {
  const beganMs = systemClock.ticksMs();
  const response = await fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova", ...headers } });
  const text = await response.text();
  const reason = response.headers.get("x-rouse-reason");
  return { status: response.status, reason, text, tookMs: systemClock.ticksMs() - beganMs };
}

describe("concurrent held requests for one sandbox", () => {
  it("each have their own timeout, and the others are served", async () => {
    await using world = await openActivatorWorld();
    await world.awake("nova");
    const short = ask(world, { "X-Sandbox-Timeout": "1" });
    const long = ask(world);
    expect(await short).toMatchObject({ status: 503, reason: "WakeTimedOut" });
    expect(await heldRequests(world)).toBe(1);
    await world.api.client.delete(sandboxType, nova);
    expect(await long).toMatchObject({ status: 410, reason: "SandboxDeleted" });
  });

  it("each wait for a closed port as long as the first", async () => {
    await using world = await openActivatorWorld(["--upstream-max-retries=1", "--upstream-retry-initial-delay=400ms"]);
    await world.awake("nova", undefined, { autoResume: { timeoutSeconds: 2 } });
    await systemClock.sleep(2_100); // longer than its Pod counts as starting
    const first = ask(world);
    await eventually(async () => (await heldRequests(world)) === 1);
    await systemClock.sleep(250);
    const second = await ask(world);
    expect(await first).toMatchObject({ status: 502, reason: "ConnectFailed" });
    expect(second).toMatchObject({ status: 502, reason: "ConnectFailed" });
    expect(second.tookMs).toBeGreaterThan(390);
  });

  it("do not wake a sandbox if they are ignored, and the others do", async () => {
    await using world = await openActivatorWorld();
    await world.awake("nova");
    const probe = ask(world, { "User-Agent": "probe/1" });
    const person = ask(world);
    await eventually(async () => (await heldRequests(world)) === 2);
    world.kubelet.run(
      "nova",
      httpProgram((_, response) => response.end("awake")),
    );
    const spec = { operatingMode: "Suspended", autoSuspension: { ignoreRequests: [{ userAgentPrefix: "probe/" }] } };
    await world.api.client.patch(sandboxType, nova, { type: "merge", body: { spec } });
    expect(await probe).toMatchObject({ status: 409, reason: "WakeNotAllowed" });
    expect(await person).toMatchObject({ status: 200, text: "awake" });
  });

  it("are held by port: a closed port does not delay another", async () => {
    await using world = await openActivatorWorld();
    await world.asleep(
      "nova",
      httpProgram((_, response) => response.end("awake")),
    );
    using other = await rawConnection(world.activator);
    other.send("GET / HTTP/1.1\r\nHost: 9999--nova--default.sandbox.localhost\r\n\r\n");
    expect(await ask(world)).toMatchObject({ status: 200, text: "awake" });
    expect(await heldRequests(world)).toBe(1);
  });
});
