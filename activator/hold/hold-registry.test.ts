import { describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  type ActivatorWorld,
  aSandbox,
  heldRequests,
  httpProgram,
  openActivatorWorld,
} from "../../test/support/labs/activator-world.ts";
import { Prober } from "../readiness/prober.ts";
import { holdsPerSandbox } from "./hold-registry.ts";

const nova = { namespace: "default", name: "nova" };

const ask = ({ activator }: ActivatorWorld, headers: Record<string, string> = {}) =>
  fetch(activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova", ...headers } });

describe("the holds of one sandbox", () => {
  it("are for a limited number of ports, and a port that is waited for takes more requests", async () => {
    await using world = await openActivatorWorld();
    await world.api.client.create(sandboxType, aSandbox("other"));
    await world.api.client.create(sandboxType, aSandbox("nova"));
    const asked = Array.from({ length: holdsPerSandbox }, (_, n) =>
      ask(world, { "X-Sandbox-Port": String(1_000 + n), "X-Sandbox-Timeout": "5" }),
    );
    await eventually(async () => (await heldRequests(world)) === holdsPerSandbox);
    const refused = await ask(world, { "X-Sandbox-Port": "2000" });
    expect([refused.status, refused.headers.get("x-rouse-reason")]).toEqual([503, "HoldLimitReached"]);
    asked.push(ask(world, { "X-Sandbox-Port": "1000" }), ask(world, { "X-Sandbox-ID": "other" }));
    await eventually(async () => (await heldRequests(world)) === holdsPerSandbox + 2);
    await world.api.client.delete(sandboxType, nova);
    await world.api.client.delete(sandboxType, { ...nova, name: "other" });
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([410]));
    const again = ask(world, { "X-Sandbox-Port": "2000", "X-Sandbox-Timeout": "1" });
    expect((await again).headers.get("x-rouse-reason")).not.toBe("HoldLimitReached");
  });

  it("go on with a probe when the sandbox changes and the port to reach does not", async () => {
    const probes = vi.spyOn(Prober.prototype, "reach"); // the real one, counted
    await using world = await openActivatorWorld();
    await world.awake("nova");
    const asked = ask(world);
    await eventually(() => probes.mock.calls.length === 1);
    for (let n = 0; n < 5; n += 1) {
      const body = { metadata: { annotations: { n: String(n) } } };
      await world.api.client.patch(sandboxType, nova, { type: "merge", body });
    }
    await world.api.client.create(sandboxType, aSandbox("later"));
    await eventually(
      async () => (await ask(world, { "X-Sandbox-ID": "later", "X-Sandbox-Timeout": "1" })).status === 503,
    );
    const pod = await world.api.client.get(podType, nova);
    await using _program = await httpProgram((_, response) => response.end("awake"))(pod.status?.podIP ?? "");
    expect(await (await asked).text()).toBe("awake");
    expect(probes.mock.calls.filter(([{ podUid }]) => podUid === pod.metadata.uid)).toHaveLength(1);
    probes.mockRestore();
  });
});
