import { describe, expect, it } from "vitest";
import { persistentVolumeClaimType } from "../../../api/kinds/core.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { openClaimLab } from "../../support/labs/claim-lab.ts";

const namespace = "default";
const spec = {
  podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } },
  volumeClaimTemplates: [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  ],
};
/** More than the retries that other objects may bring forward at once. */
const names = Array.from({ length: 80 }, (_, at) => `s-${at}`);

const exceeded = new ApiError(403, {
  ...{ apiVersion: "v1", kind: "Status", code: 403, reason: "Forbidden" },
  message: "exceeded quota: q",
});

describe("many sandboxes whose Pods are refused", () => {
  it("each get their own volume claim again at once when it is deleted", { timeout: 60_000 }, async () => {
    await using lab = await openClaimLab();
    const clock = new FakeClock(systemClock.now());
    await using _controller = await lab.startController({
      clock,
      flags: ["--activator-namespace="],
      intercept: async ({ verb, kind }, proceed) => {
        if (verb === "create" && kind === "Pod") throw exceeded;
        return proceed();
      },
    });
    const pass = async (ms: number, stepMs: number) => {
      for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
        await clock.advance(stepMs);
        await systemClock.sleep(2);
      }
    };
    for (const name of names) await lab.client.create(sandboxType, { metadata: { namespace, name }, spec });
    await pass(60_000, 100);
    const claims = async () => (await lab.client.list(persistentVolumeClaimType, { namespace })).items;
    const before = new Set((await claims()).map(({ metadata }) => metadata.uid));
    expect(before.size).toBe(names.length);
    for (const name of names) await lab.client.delete(persistentVolumeClaimType, { namespace, name: `data-${name}` });
    await pass(300, 1);
    expect((await claims()).filter(({ metadata }) => !before.has(metadata.uid))).toHaveLength(names.length);
  });
});
