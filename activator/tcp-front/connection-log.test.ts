import { Writable } from "node:stream";
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  allocate,
  freeFrontPort,
  greeter,
  openTcpWorld,
  talkTo,
  tcpPort,
  tcpProgram,
} from "../../test/support/labs/tcp-front-lab.ts";
import { parseActivatorConfig } from "../config/config.ts";
import { startActivator } from "../start.ts";

const host = "127.88.1.2";

it("connections log one access line each, and rejections one line a minute", async () => {
  await using world = await openTcpWorld();
  await world.asleep("nova", tcpProgram(greeter("nova")));
  await world.asleep("vega", undefined, { autoResume: { trigger: "Never" } });
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(chunk, _, done) {
      for (const line of String(chunk).trim().split("\n")) lines.push(JSON.parse(line));
      done();
    },
  });
  const config = parseActivatorConfig([
    ...["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address="],
    ...["--authz-mode=allow-all", "--allow-loopback-pod-ip", "--drain-bind-address=127.0.0.1:0"],
    `--tcp-front-bind-address=${host}`,
  ]);
  const registry = new Registry();
  const parts = { client: world.api.client, clock: systemClock, registry };
  await using _ = await startActivator(config, { ...parts, log: createLogger("test", "info", sink) });
  const ports = { nova: await freeFrontPort(), vega: await freeFrontPort() };
  for (const [name, activatorPort] of Object.entries(ports)) {
    const { uid = "" } = (await world.sandbox(name)).metadata;
    await allocate(world.api.client, { name, uid }, { activatorPort, containerPort: tcpPort });
  }
  await eventually(async () => (await registry.metrics()).includes("rouse_activator_tcp_listeners 2"));

  using client = await talkTo(ports.nova, host);
  client.send("ping\n");
  await client.until("nova: ping\n");
  client.socket.end();
  await client.until("bye\n");
  for (let n = 0; n < 3; n += 1) {
    using stranger = await talkTo(ports.vega, host);
    expect(await stranger.over()).toBe("reset");
  }

  const connections = () => lines.filter(({ msg }) => msg === "connection");
  await eventually(() => connections().length === 4);
  expect(connections()[0]).toMatchObject({
    ...{ sandbox_namespace: "default", sandbox_id: "nova", port: tcpPort, client_ip: "127.0.0.1", outcome: "relayed" },
    ...{ bytes_in: 5, bytes_out: "hello from nova\nnova: ping\nbye\n".length, duration_ms: expect.any(Number) },
    wake: { seen: 0, wakePatched: expect.any(Number), firstByte: expect.any(Number) },
  });
  expect(connections()[1]).toMatchObject({ sandbox_id: "vega", outcome: "refused", reason: "WakeNotAllowed" });
  const refusals = lines.filter(({ msg }) => msg === "TCP connection rejected");
  expect(refusals).toMatchObject([{ reason: "WakeNotAllowed", namespace: "default", sandbox: "vega" }]);
});
