import { describe, expect, it } from "vitest";
import {
  endpointSliceType,
  formatTcpFront,
  type TcpFront,
  tcpFrontPorts,
  tcpFrontPortsPerNamespaceMax,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { namespaceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
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

const port = (activatorPort: number, containerPort = tcpPort) => ({ name: "main", containerPort, activatorPort });

/** A slice as a tenant writes it, in a namespace of its own. */
function forged(sandboxUid: string, said: Partial<TcpFront>) {
  const slice = aFrontSlice({ sandboxName: "ghost", sandboxUid, ports: [], ...said });
  return { ...slice, ports: [], metadata: { ...slice.metadata, namespace: "rogue" } };
}

async function forge({ api: { client } }: TcpWorld, sandboxUid: string, said: Partial<TcpFront>): Promise<void> {
  const slice = { namespace: "rogue", name: tcpFrontSliceName(sandboxUid) };
  const front = { sandboxName: "ghost", sandboxUid, ports: [], ...said };
  const body = { metadata: { annotations: { [tcpFrontAnnotation]: formatTcpFront(front) } } };
  await client.patch(endpointSliceType, slice, { type: "merge", body });
}

/** With the slice of `u1`, which is older than all later ones. The age of an object has seconds only. */
async function openRogueWorld(): Promise<TcpWorld> {
  const world = await openTcpWorld();
  await world.api.client.create(namespaceType, { metadata: { name: "rogue" } });
  const { metadata } = await world.api.client.create(endpointSliceType, forged("u1", {}));
  await eventually(() => Date.now() >= Date.parse(metadata.creationTimestamp) + 1_000);
  return world;
}

describe("a slice that a tenant writes in the name of the controller", () => {
  it("takes no port from another sandbox, nor its quarantine, though it is older", async () => {
    await using world = await openRogueWorld();
    await world.awake("nova", tcpProgram(greeter("nova")));
    const stolen = await world.front("nova");
    const { uid } = (await world.api.client.get(sandboxType, { namespace: "default", name: "nova" })).metadata;
    const reached = async () => {
      // The activator has seen what the tenant wrote before.
      const seen = await freeFrontPort();
      await world.api.client.create(endpointSliceType, forged(`seen-${seen}`, { ports: [port(seen)] }));
      await eventually(() => world.confirms(seen, `seen-${seen}`));
      using client = await talkTo(stolen);
      await client.until("hello from nova\n");
      return world.confirms(stolen, uid);
    };
    await forge(world, "u1", { ports: [port(stolen)] });
    expect(await reached()).toBe(true);
    await forge(world, "u1", { freedPorts: [{ activatorPort: stolen, freedAt: new Date().toISOString() }] });
    expect(await reached()).toBe(true);
    await forge(world, "u1", {});
    expect(await reached()).toBe(true);
  });

  it("opens no port that another sandbox has in quarantine", async () => {
    await using world = await openRogueWorld();
    const [rested, seen] = [await freeFrontPort(), await freeFrontPort()];
    const freedAt = new Date().toISOString();
    const released = aFrontSlice({ sandboxName: "gone", sandboxUid: "gone", ports: [port(rested)], freedAt });
    await world.api.client.create(endpointSliceType, released);
    await forge(world, "u1", { ports: [port(rested)] });
    await forge(world, "u1", { ports: [port(rested), port(seen, 80)] });
    await eventually(() => world.confirms(seen, "u1"));
    expect(await world.confirms(rested, "u1")).toBe(false);
  });

  it("leaves half of all ports to other namespaces", async () => {
    await using world = await openRogueWorld();
    const { first, last } = tcpFrontPorts;
    const freedAt = new Date().toISOString();
    const before = last - tcpFrontPortsPerNamespaceMax;
    for (let from = first; from <= last; from += 2_000) {
      const freedPorts = Array.from({ length: 2_000 }, (_, at) => ({ activatorPort: from + at, freedAt }));
      await world.api.client.create(endpointSliceType, forged(`u${from}`, { freedPorts }));
    }
    await world.awake("nova", tcpProgram(greeter("nova")));
    const activatorPort = await freePortAbove(before + 4_000);
    const { uid } = (await world.api.client.get(sandboxType, { namespace: "default", name: "nova" })).metadata;
    const front = aFrontSlice({ sandboxName: "nova", sandboxUid: uid, ports: [port(activatorPort)] });
    await world.api.client.create(endpointSliceType, front);
    await eventually(() => world.confirms(activatorPort, uid));
  });
});

async function freePortAbove(least: number): Promise<number> {
  for (;;) {
    const found = await freeFrontPort();
    if (found > least) return found;
  }
}
