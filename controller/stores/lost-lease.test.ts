import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { LeadershipLost } from "../../kube/leader/leader-election.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { parseControllerConfig } from "../config/config.ts";
import { startController } from "../start.ts";

const pages = ["--metrics-bind-address=0", "--health-probe-bind-address=0", "--enable-webhook=false"];

it("a controller whose machine was suspended writes nothing more, before any timer runs", async () => {
  await using api = await openMemoryApi();
  const clock = new FakeClock();
  const config = parseControllerConfig([...pages, "--leader-election-namespace=default"]);
  const parts = { client: api.client, clock, log: silentLogger, registry: new Registry(), identity: "a" };
  await using controller = await startController(config, parts);
  await controller.synced;
  const make = (name: string) =>
    api.client.create(sandboxType, {
      metadata: { namespace: "default", name },
      spec: { podTemplate: { spec: { containers: [{ name: "main", image: "x" }] } } },
    });
  const pods = async () =>
    (await api.client.list(podType, { namespace: "default" })).items.map((pod) => pod.metadata.name);
  await make("before");
  await expect.poll(pods, { timeout: 10_000 }).toEqual(["before"]);
  clock.jumpWall(3_600_000);
  await make("after");
  await expect(controller.failed).rejects.toThrow(LeadershipLost);
  expect(await pods()).toEqual(["before"]);
});
