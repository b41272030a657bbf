import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { aScript, idle, testPath } from "../../test/support/labs/local-node.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import { startKubelet } from "./start-kubelet.ts";

const where = { namespace: "default", name: "nova" };

/** The same client, whose nth write fails as on a full disk. */
function failingAt(nth: number, client: KubeClient) {
  let writes = 0;
  const failing = interceptCalls(client, async ({ verb }, proceed) => {
    if (verb !== "get") writes += 1;
    if (verb !== "get" && writes === nth)
      throw new ApiError(500, { apiVersion: "v1", kind: "Status", message: "no space left on device" });
    return proceed();
  });
  return { failing, writes: () => writes };
}

describe("the process runtime", () => {
  it("starts and runs a Pod to its end also if any one of its writes fails", async () => {
    for (let nth = 1, writes = 1; nth <= writes; nth += 1) {
      await using api = await openMemoryApi({ kinds: servedKinds() });
      await using directory = await mkdtempDisposable(join(tmpdir(), "rouse-kubelet-"));
      const door = failingAt(nth, api.client);
      await using kubelet = startKubelet({
        ...{ client: door.failing, clock: systemClock, log: silentLogger, dataDir: directory.path },
        environment: { PATH: testPath },
      });
      const steps = async () => {
        await kubelet.synced;
        const spec = { terminationGracePeriodSeconds: 0, containers: [aScript(idle)] };
        await api.client.create(podType, { apiVersion: "v1", kind: "Pod", metadata: where, spec });
        const phase = async () => (await api.client.get(podType, where)).status?.phase;
        await expect.poll(phase, waiting).toBe("Running");
        await api.client.delete(podType, where);
        const pods = async () => (await api.client.list(podType, { namespace: "default" })).items.length;
        await expect.poll(pods, waiting).toBe(0);
      };
      await Promise.race([steps(), kubelet.failed]);
      writes = door.writes();
      expect(writes).toBeGreaterThan(4);
    }
  });
});
