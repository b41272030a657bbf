import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import {
  type EndpointSlice,
  endpointSliceType,
  formatTcpFront,
  managedByLabel,
  serviceNameLabel,
  type TcpFront,
  tcpFrontManager,
  tcpFrontPorts,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { namespaceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import { type FrontLab, frontOf, openFrontLab, podWith, portsOf } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const namespace = "rogue";
const { first } = tcpFrontPorts;
const gaugeOf = (metrics: string, name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics)?.[1]);

/** A slice as a tenant writes it who may create EndpointSlices: with our label, for a sandbox that does not exist. */
function forged(sandboxUid: string, said: Partial<TcpFront>, name = tcpFrontSliceName(sandboxUid)): EndpointSlice {
  const front = { sandboxName: "ghost", sandboxUid, ports: [], ...said };
  return {
    metadata: {
      ...{ namespace, name },
      labels: { [managedByLabel]: tcpFrontManager },
      annotations: { [tcpFrontAnnotation]: formatTcpFront(front) },
    },
    addressType: "IPv4",
    endpoints: [],
  };
}

const port = (activatorPort: number) => ({ name: "p", containerPort: 5432, activatorPort });
const manyPorts = (from: number, count: number) => Array.from({ length: count }, (_, at) => port(from + at));

async function openRogueLab(): Promise<FrontLab> {
  const lab = await openFrontLab();
  await lab.client.create(namespaceType, { metadata: { name: namespace } });
  return lab;
}

/** The sandbox of the tenant in its own namespace, and the ports that the controller gave it. */
async function sandboxOfTenant({ client }: FrontLab) {
  const spec = { service: true, autoResume: {}, podTemplate: podWith(5432) };
  const { metadata } = await client.create(sandboxType, { metadata: { namespace, name: "nova" }, spec });
  const name = tcpFrontSliceName(metadata.uid);
  const read = () => client.get(endpointSliceType, { namespace, name });
  await vi.waitFor(async () => expect((await read()).endpoints).toHaveLength(1), waiting);
  return {
    read,
    /** Writes into the slice as the tenant: the front as changed. */
    async forge(change: (front: TcpFront) => TcpFront) {
      const front = change(frontOf(await read()));
      const body = { metadata: { annotations: { [tcpFrontAnnotation]: formatTcpFront(front) } } };
      await client.patch(endpointSliceType, { namespace, name }, { type: "merge", body });
    },
  };
}

describe("EndpointSlices that a tenant writes in the name of the controller", () => {
  it("keep no more ports from others than its namespace may have, and lose the others", async () => {
    await using lab = await openRogueLab();
    const registry = new Registry();
    const flags = ["--tcp-front-ports-per-namespace=200", "--tcp-front-writes-per-second=10000"];
    await using _controller = await lab.startController({ registry, flags });
    for (let at = 0; at < 100; at += 1) {
      await lab.client.create(endpointSliceType, forged(`u${at}`, { ports: manyPorts(first + at * 100, 100) }));
    }
    const kept = async () => {
      const metrics = await registry.metrics();
      return (
        gaugeOf(metrics, "rouse_tcp_front_allocated_ports") + gaugeOf(metrics, "rouse_tcp_front_quarantined_ports")
      );
    };
    expect(await kept()).toBeLessThanOrEqual(200);
    await vi.waitFor(async () => {
      const named = (await lab.slices()).flatMap(portsOf);
      expect(named.length).toBeLessThanOrEqual(200);
    }, waiting);
    expect(await kept()).toBeLessThanOrEqual(200);
    expect(gaugeOf(await registry.metrics(), "rouse_tcp_front_foreign_slices_total")).toBeGreaterThanOrEqual(97);
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
  });

  it("take no port of another sandbox, though they are older than its slice", async () => {
    await using lab = await openRogueLab();
    await using _controller = await lab.startController();
    const tenant = await sandboxOfTenant(lab);
    const victim = await lab.create();
    const [stolen = 0] = portsOf(await lab.untilLeadingTo(victim, "10.0.0.1"));
    await tenant.forge((front) => ({ ...front, ports: [port(stolen)] }));
    await vi.waitFor(async () => expect(portsOf(await tenant.read())).not.toContain(stolen), waiting);
    await tenant.forge((front) => ({
      ...front,
      freedPorts: [{ activatorPort: stolen, freedAt: new Date().toISOString() }],
    }));
    await vi.waitFor(async () => expect(frontOf(await tenant.read()).freedPorts ?? []).toEqual([]), waiting);
    expect(portsOf(await lab.slice(victim))).toEqual([stolen]);
  });

  it.each(["while a controller leads", "before one begins to lead"])(
    "with the UID of another namespace's sandbox change nothing of that, %s",
    async (when) => {
      await using lab = await openRogueLab();
      const victim = await (async () => {
        await using _former = await lab.startController();
        const made = await lab.create();
        await lab.untilLeadingTo(made, "10.0.0.1");
        return made;
      })();
      const before = await lab.slice(victim);
      const { uid } = victim.metadata;
      const write = () => lab.client.create(endpointSliceType, forged(uid, { ports: [port(first), port(first + 1)] }));
      const isBefore = when.startsWith("before");
      if (isBefore) await write();
      await using _controller = await lab.startController();
      if (!isBefore) await write();
      const name = tcpFrontSliceName(uid);
      const read = () => lab.client.get(endpointSliceType, { namespace, name });
      await vi.waitFor(async () => expect(frontOf(await read()).freedAt).toBeDefined(), waiting);
      await lab.change({ shutdownPolicy: "Delete" });
      // Another sandbox is reached later than the victim would have lost its activators.
      await lab.untilLeadingTo(await lab.create({}, "other"), "10.0.0.1");
      expect(await lab.slice(victim)).toEqual(before);
    },
  );

  it("lose the Service of another that they name, and lead nowhere", async () => {
    await using lab = await openRogueLab();
    await using _controller = await lab.startController();
    const slice = forged("u1", { ports: [port(first)] });
    const labels = { ...slice.metadata.labels, [serviceNameLabel]: "database" };
    const leading = { endpoints: [{ addresses: ["10.9.9.9"] }], ports: [{ name: "p", port: first, protocol: "TCP" }] };
    await lab.client.create(endpointSliceType, { ...slice, ...leading, metadata: { ...slice.metadata, labels } });
    await vi.waitFor(async () => {
      const [found] = await lab.slices();
      expect(found?.metadata.labels).not.toHaveProperty([serviceNameLabel]);
      expect([found?.endpoints ?? [], found?.ports ?? []]).toEqual([[], []]);
    }, waiting);
  });

  it("are deleted if their name is not that of their sandbox's slice, and keep no port", async () => {
    await using lab = await openRogueLab();
    const registry = new Registry();
    await using _controller = await lab.startController({ registry });
    await lab.client.create(endpointSliceType, forged("u1", { ports: manyPorts(first, 100) }, "another"));
    await vi.waitFor(async () => expect(await lab.slices()).toEqual([]), waiting);
    const metrics = await registry.metrics();
    expect(gaugeOf(metrics, "rouse_tcp_front_quarantined_ports")).toBe(0);
  });

  it("bring no ports outside the range of the activators to a sandbox", async () => {
    await using lab = await openRogueLab();
    await using _controller = await lab.startController();
    const tenant = await sandboxOfTenant(lab);
    await tenant.forge((front) => ({ ...front, ports: [port(22)] }));
    await vi.waitFor(async () => expect(portsOf(await tenant.read())).not.toContain(22), waiting);
  });
});
