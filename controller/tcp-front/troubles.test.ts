import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import {
  type EndpointSlice,
  endpointSliceType,
  formatTcpFront,
  managedByLabel,
  tcpFrontManager,
  tcpFrontPorts,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { eventType, namespaceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { openFrontLab, podWith, portsOf } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

describe("a sandbox for which no port is left", () => {
  it("is reached by the ports that it got, and reports the others in an event", async () => {
    await using lab = await openFrontLab();
    const { first, last } = tcpFrontPorts;
    const namespaces = ["one", "two", "three"] as const;
    for (const name of namespaces) await lab.client.create(namespaceType, { metadata: { name } });
    // One port is free, and there is no room for all the others in one annotation, nor in one namespace.
    for (let from = first + 1, made = 0; from <= last; from += slicePorts, made += 1) {
      const count = Math.min(slicePorts, last - from + 1);
      const ports = Array.from({ length: count }, (_, at) => from + at);
      await lab.client.create(endpointSliceType, resting(ports, namespaces[made % 3]));
    }
    const registry = new Registry();
    await using _controller = await lab.startController({
      registry,
      flags: ["--disable-sandbox-events=false"],
    });
    const sandbox = await lab.create({ podTemplate: podWith(22, 5432) });
    const served = await lab.untilLeadingTo(sandbox, "10.0.0.1");
    expect(portsOf(served)).toEqual([first]);
    await vi.waitFor(async () => {
      const { items } = await lab.client.list(eventType, { namespace: "default" });
      expect(items.map(({ reason }) => reason)).toContain("TcpFrontPortsExhausted");
    }, waiting);
    const metrics = await registry.metrics();
    expect(metrics).toContain("rouse_tcp_front_allocated_ports 1\n");
    expect(metrics).toContain(`rouse_tcp_front_quarantined_ports ${last - first}\n`);
  });
});

const slicePorts = 2_500;

/** The slice of a sandbox that is gone. */
function resting(activatorPorts: readonly number[], namespace = "default"): EndpointSlice {
  const sandboxUid = `gone-${activatorPorts[0]}`;
  const freedAt = new Date().toISOString();
  const ports = activatorPorts.map((activatorPort) => ({ name: "p", containerPort: 1, activatorPort }));
  return {
    metadata: {
      namespace,
      name: tcpFrontSliceName(sandboxUid),
      labels: { [managedByLabel]: tcpFrontManager },
      annotations: { [tcpFrontAnnotation]: formatTcpFront({ sandboxName: "gone", sandboxUid, ports, freedAt }) },
    },
    addressType: "IPv4",
    endpoints: [],
  };
}

describe("a slice that cannot be written", () => {
  it("is reported in an event, and retried", async () => {
    await using lab = await openFrontLab();
    let refusals = 0;
    const client = interceptCalls(lab.client, async ({ verb, kind }, proceed) => {
      if (kind !== "EndpointSlice" || verb !== "create" || refusals >= 3) return proceed();
      refusals += 1;
      throw new ApiError(403, { apiVersion: "v1", kind: "Status", reason: "Forbidden", message: "not yours" });
    });
    const registry = new Registry();
    const flags = ["--disable-sandbox-events=false"];
    await using _controller = await lab.startController({ client, registry, flags });
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
    await vi.waitFor(async () => {
      const { items } = await lab.client.list(eventType, { namespace: "default" });
      const note = "could not write the EndpointSlice of its Service: not yours";
      expect(items.map((event) => event.note)).toContain(note);
    }, waiting);
    const metrics = await registry.metrics();
    expect(metrics).toContain('rouse_tcp_front_slice_writes_total{verb="create",outcome="failed"} 3\n');
    expect(metrics).toContain('rouse_tcp_front_slice_writes_total{verb="create",outcome="written"} 1\n');
  });
});

describe("a namespace that is deleted", () => {
  it("takes its records along, and the ports rest all the same", async () => {
    await using lab = await openFrontLab();
    const namespace = "team";
    await lab.client.create(namespaceType, { metadata: { name: namespace } });
    await using _controller = await lab.startController();
    const made = await lab.client.create(sandboxType, {
      metadata: { namespace, name: "nova" },
      spec: { service: true, autoResume: {}, podTemplate: podWith(5432) },
    });
    const ports = await vi.waitFor(async () => {
      const [slice] = await lab.slices();
      expect(slice?.endpoints?.length).toBe(1);
      return portsOf(slice);
    }, waiting);
    await lab.client.delete(namespaceType, { name: namespace });
    await vi.waitFor(async () => expect(await lab.slices()).toEqual([]), waiting);
    const next = await lab.create();
    expect(portsOf(await lab.untilLeadingTo(next, "10.0.0.1"))).not.toEqual(ports);
    expect(made.metadata.uid).not.toBe(next.metadata.uid);
  });
});

describe("a slice in the name of the controller that says nothing", () => {
  it("is deleted, and its sandbox gets another", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    const { metadata } = await lab.untilLeadingTo(sandbox, "10.0.0.1");
    const body = { metadata: { annotations: { [tcpFrontAnnotation]: "{" } } };
    await lab.client.patch(endpointSliceType, metadata, { type: "merge", body });
    await vi.waitFor(async () => {
      const slice = await lab.slice(sandbox);
      expect(slice?.metadata.uid).not.toBe(metadata.uid);
      expect(slice?.endpoints?.length).toBe(1);
    }, waiting);
  });
});

describe("activators with addresses of another family", () => {
  it("get a slice of that family, with the same ports", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    const before = await lab.untilLeadingTo(sandbox, "10.0.0.1");
    lab.activators.are({ address: "fd00::1" });
    const after = await lab.untilLeadingTo(sandbox, "fd00::1");
    expect(after.addressType).toBe("IPv6");
    expect(portsOf(after)).toEqual(portsOf(before));
  });

  it("do not take a slice from its family while one of that family is ready", async () => {
    await using lab = await openFrontLab();
    const [four, six] = [{ address: "10.0.0.1" }, { address: "fd00::1" }];
    lab.activators.are(four, six);
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
    lab.activators.are({ ...four, ready: false }, six);
    await lab.untilLeadingTo(sandbox, "fd00::1");
    lab.activators.are(four, six, { address: "fd00::2" });
    const { metadata } = await lab.untilLeadingTo(sandbox, "fd00::1", "fd00::2");
    lab.activators.are(four, six);
    expect((await lab.untilLeadingTo(sandbox, "fd00::1")).metadata.uid).toBe(metadata.uid);
  });
});

it("activators in another order cause no pass over the slices", async () => {
  await using lab = await openFrontLab();
  const [four, six] = [{ address: "10.0.0.1" }, { address: "fd00::1" }];
  lab.activators.are(four, six);
  const registry = new Registry();
  await using _controller = await lab.startController({ registry });
  const sandbox = await lab.create();
  const before = await lab.untilLeadingTo(sandbox, "10.0.0.1");
  const passes = async () => {
    const { values = [] } = (await registry.getSingleMetric("workqueue_adds_total")?.get()) ?? {};
    return values.find(({ labels }) => labels.name === "tcpfront")?.value;
  };
  // Nothing else happens in between: there is no wait for I/O or a timer.
  const first = await passes();
  lab.activators.are(six, four);
  expect(await passes()).toBe(first);
  lab.activators.are(four, { ...six, run: 2 });
  expect(await passes()).toBe((first ?? 0) + 1);
  const other = await lab.create({}, "other");
  await lab.untilLeadingTo(other, "10.0.0.1");
  expect((await lab.slice(sandbox))?.metadata.uid).toBe(before.metadata.uid);
});
