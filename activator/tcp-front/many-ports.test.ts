import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { endpointSliceType, tcpFrontPorts, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  aFrontSlice,
  freeFrontPort,
  greeter,
  openTcpWorld,
  type TcpWorld,
  talkTo,
  tcpPort,
  tcpProgram,
} from "../../test/support/labs/tcp-front-lab.ts";
import { parseActivatorConfig } from "../config/config.ts";
import { startActivator } from "../start.ts";

const perSlice = 2_000;
/** So many slices with released ports in the namespace of the sandbox `nova`, and then its own slice with another port. */
function slicesOf(count: number, nova: { readonly uid: string; readonly activatorPort: number }) {
  const freedAt = new Date().toISOString();
  const all = Array.from({ length: count * perSlice + 1 }, (_, at) => ({
    activatorPort: tcpFrontPorts.first + at,
    freedAt,
  }));
  const others = all.filter(({ activatorPort }) => activatorPort !== nova.activatorPort);
  const released = Array.from({ length: count }, (_, slice) => {
    const freedPorts = others.slice(slice * perSlice, (slice + 1) * perSlice);
    // By its name, a list has it before the others.
    return aFrontSlice({ sandboxName: "gone", sandboxUid: `00${slice}`, ports: [], freedPorts });
  });
  const ports = [{ name: "main", containerPort: tcpPort, activatorPort: nova.activatorPort }];
  return [...released, aFrontSlice({ sandboxName: "nova", sandboxUid: nova.uid, ports })];
}

async function write({ api: { client } }: TcpWorld, slices: ReturnType<typeof slicesOf>): Promise<void> {
  for (const slice of slices) await client.create(endpointSliceType, { ...slice, ports: [] });
}

async function openWithNova() {
  const world = await openTcpWorld();
  await world.awake("nova", tcpProgram(greeter("nova")));
  const { uid = "" } = (await world.sandbox("nova")).metadata;
  return { world, nova: { uid, activatorPort: await freeFrontPort() } };
}

describe("a namespace with many activator ports", () => {
  it("has all of them again when all of its slices are made again", async () => {
    const { world, nova } = await openWithNova();
    await using _ = world;
    const slices = slicesOf(4, nova);
    const isOpen = () => world.confirms(nova.activatorPort, nova.uid);
    await write(world, slices);
    await eventually(isOpen);
    for (const { metadata } of slices) {
      const { namespace, name = "" } = metadata;
      await world.api.client.delete(endpointSliceType, { namespace, name });
    }
    await eventually(async () => !(await isOpen()));
    await write(world, slices);
    await eventually(isOpen);
  });

  it("has all of them in a replica that starts, also if they are more than a namespace can get now", async () => {
    const { world, nova } = await openWithNova();
    await using _ = world;
    const slices = slicesOf(6, nova);
    expect(slices.at(-1)?.metadata.name).toBe(tcpFrontSliceName(nova.uid));
    await write(world, slices);
    const config = parseActivatorConfig([
      ...["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--authz-mode=allow-all"],
      ...["--drain-bind-address=127.0.0.1:0", "--tcp-front-bind-address=127.88.1.2", "--metrics-bind-address="],
      "--allow-loopback-pod-ip",
    ]);
    const { client } = world.api;
    const registry = new Registry();
    await using _second = await startActivator(config, { client, registry, clock: systemClock, log: silentLogger });
    await eventually(async () => (await registry.metrics()).includes("rouse_activator_tcp_listeners 1"));
    using guest = await talkTo(nova.activatorPort, "127.88.1.2");
    await guest.until("hello from nova");
  });
});
