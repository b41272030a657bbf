import { expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { PodFences } from "../activity/pod-fences.ts";
import { startCluster } from "../sandbox/cluster.ts";
import { resolveNow } from "./connect-request.ts";

it("no sandbox is reached once the API server has been silent for two minutes", async () => {
  const clock = new FakeClock();
  const api = await openMemoryApi();
  await api.client.create(sandboxType, aSandbox("nova"));
  await using cluster = startCluster({ client: api.client, clock, log: silentLogger });
  await cluster.firstSeen;
  await eventually(() => cluster.synced);
  const options = {
    ...{ proxyTimeoutMs: 900_000, unschedulableGraceMs: undefined },
    ...{ allowLoopbackPodIp: true, dialRetryMs: 1_400 },
  };
  const check = () => {
    const seen = resolveNow({ namespace: "default", name: "nova", port: undefined }, undefined, undefined, {
      ...{ cluster, clock, options, fences: new PodFences({ onFenced: () => {}, hasPod: () => false }) },
    });
    return seen.is === "refused" ? seen.error.code : seen.is;
  };
  expect(check()).not.toBe("ClusterUnseen");
  await api[Symbol.asyncDispose]();
  await clock.advance(90_000);
  expect(check()).not.toBe("ClusterUnseen");
  await clock.advance(60_000);
  expect(check()).toBe("ClusterUnseen");
});
