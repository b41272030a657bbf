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

it.each([
  { silence: "for two minutes", before: 90_000, passes: (clock: FakeClock) => clock.advance(60_000) },
  { silence: "during a pause of the machine", before: 0, passes: async (clock: FakeClock) => clock.jumpWall(120_001) },
])("no sandbox is reached once the API server has been silent $silence", async ({ before, passes }) => {
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
  await clock.advance(before);
  expect(check()).not.toBe("ClusterUnseen");
  await passes(clock);
  expect(check()).toBe("ClusterUnseen");
});
