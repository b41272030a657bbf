import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { allocate, freeFrontPort, talkTo } from "../../test/support/labs/tcp-front-lab.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { createTcpMetrics } from "./connection/tcp-metrics.ts";
import { startTcpFront } from "./tcp-front.ts";

it("a connection for which the process has no descriptor to spare is reset and counted", async () => {
  await using api = await openMemoryApi();
  const { client } = api;
  const activatorPort = await freeFrontPort();
  await allocate(client, { name: "nova", uid: "uid-of-nova" }, { activatorPort, containerPort: 5432 });
  const registry = new Registry();
  const metrics = createTcpMetrics(registry, { listeners: () => front.listening });
  const besides: number[] = [];
  const hasRoom = (listening: number) => besides.push(listening) > 1;
  let served = 0;
  const serve = async () => {
    served += 1;
  };
  await using front = startTcpFront(
    { host: "127.0.0.1", podIp: undefined, maxConnections: 10 },
    {
      ...{ client, clock: systemClock, log: silentLogger, metrics, hasRoom, serve },
      cluster: { firstSeen: Promise.resolve() },
    },
  );
  await eventually(() => front.listening === 1);
  using refused = await talkTo(activatorPort);
  expect(await refused.over()).toBe("reset");
  using _taken = await talkTo(activatorPort);
  await eventually(() => served === 1);
  expect(besides).toEqual([1, 1]);
  expect(await registry.metrics()).toContain('rouse_activator_tcp_refused_total{reason="NoDescriptors"} 1');
});
