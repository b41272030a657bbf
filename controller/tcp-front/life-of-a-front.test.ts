import { describe, expect, it, vi } from "vitest";
import {
  endpointSliceType,
  formatTcpFront,
  managedByLabel,
  serviceNameLabel,
  tcpFrontManager,
  tcpFrontPorts,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { serviceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import { frontOf, openFrontLab, podWith, portsOf } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

describe("the name of a sandbox that connections wake", () => {
  it("leads to the activators that have said that they listen, asleep and awake", async () => {
    await using lab = await openFrontLab();
    lab.activators.are({ address: "10.0.0.1" }, { address: "10.0.0.2" });
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    const slice = await lab.untilLeadingTo(sandbox, "10.0.0.1", "10.0.0.2");
    const [port = 0] = portsOf(slice);
    const { name, uid: sandboxUid } = sandbox.metadata;
    const front = {
      sandboxName: name,
      sandboxUid,
      ports: [{ name: "p-5432-tcp", containerPort: 5432, activatorPort: port }],
    };
    expect(port).toBeGreaterThanOrEqual(tcpFrontPorts.first);
    expect(port).toBeLessThanOrEqual(tcpFrontPorts.last);
    expect(slice).toMatchObject({
      metadata: {
        name: tcpFrontSliceName(sandboxUid),
        labels: { [managedByLabel]: tcpFrontManager, [serviceNameLabel]: "nova" },
        annotations: { [tcpFrontAnnotation]: formatTcpFront(front) },
      },
      addressType: "IPv4",
      endpoints: ["10.0.0.1", "10.0.0.2"].map((address) => ({
        addresses: [address],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: {
          kind: "Pod",
          namespace: "agent-sandbox-system",
          name: `activator-${address}`,
          uid: `uid-of-${address}`,
        },
      })),
      ports: [{ name: "p-5432-tcp", port, protocol: "TCP" }],
    });
    expect(slice.metadata.ownerReferences ?? []).toEqual([]);
    const service = await lab.service();
    expect(service?.spec?.clusterIP).toMatch(/^127\./);
    expect(service?.spec).not.toHaveProperty("selector");
    await vi.waitFor(async () => {
      const { status } = await lab.client.get(sandboxType, { namespace: "default", name });
      expect(status).toMatchObject({ service: "nova", serviceFQDN: "nova.default.svc.cluster.local" });
    }, waiting);

    await lab.change({ operatingMode: "Suspended" });
    await vi.waitFor(async () => {
      const { status } = await lab.client.get(sandboxType, { namespace: "default", name });
      expect(status?.conditions?.find(({ type }) => type === "Suspended")?.status).toBe("True");
    }, waiting);
    expect(await lab.slice(sandbox)).toEqual(slice);
  });

  it("does not lead to an activator before it listens, and makes no calls at rest", async () => {
    await using lab = await openFrontLab();
    lab.activators.are({ address: "10.0.0.1" }, { address: "10.0.0.2" });
    lab.activators.accepts = (host) => host === "10.0.0.1";
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
    lab.activators.accepts = () => true;
    await lab.untilLeadingTo(sandbox, "10.0.0.1", "10.0.0.2");
    const asked = lab.activators.asked.length;
    await lab.change({ operatingMode: "Suspended" });
    await vi.waitFor(async () => expect((await lab.slices()).length).toBe(1), waiting);
    expect(lab.activators.asked.length).toBe(asked);
  });

  it("leaves an activator that goes, and one that starts anew until it listens again", async () => {
    await using lab = await openFrontLab();
    lab.activators.are({ address: "10.0.0.1" }, { address: "10.0.0.2" });
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1", "10.0.0.2");
    lab.activators.are({ address: "10.0.0.1" }, { address: "10.0.0.2", leaving: true });
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
    lab.activators.accepts = () => false;
    lab.activators.are({ address: "10.0.0.1", run: 2 });
    await lab.untilLeadingTo(sandbox);
    lab.activators.accepts = () => true;
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
  });

  it("keeps to activators that are all unready at once, and leaves one that is so alone", async () => {
    await using lab = await openFrontLab();
    lab.activators.are({ address: "10.0.0.1" }, { address: "10.0.0.2" });
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1", "10.0.0.2");
    lab.activators.are({ address: "10.0.0.1" }, { address: "10.0.0.2", ready: false });
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
    lab.activators.are({ address: "10.0.0.1", ready: false }, { address: "10.0.0.2", ready: false });
    await lab.untilLeadingTo(sandbox, "10.0.0.1", "10.0.0.2");
  });

  it("keeps what it can when its ports change, and the released port is assigned to no sandbox", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController({ flags: ["--tcp-front-quarantine=2s"] });
    const sandbox = await lab.create({ podTemplate: podWith(5432, 6379) });
    const [kept, freed] = portsOf(await lab.untilLeadingTo(sandbox, "10.0.0.1"));
    await lab.change({ podTemplate: podWith(5432, 22) });
    const slice = await vi.waitFor(async () => {
      const found = await lab.slice(sandbox);
      expect(found?.ports?.map(({ name }) => name)).toEqual(["p-22-tcp", "p-5432-tcp"]);
      return found;
    }, waiting);
    expect(portsOf(slice)[1]).toBe(kept);
    expect(frontOf(slice).freedPorts?.map(({ activatorPort }) => activatorPort)).toEqual([freed]);
    await vi.waitFor(async () => expect(frontOf(await lab.slice(sandbox))).not.toHaveProperty("freedPorts"), waiting);
  });
});

describe("the ports of a sandbox that is gone", () => {
  it("rest, lead nowhere, and go to no sandbox, not of the same name either", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController();
    const first = await lab.create();
    const [port] = portsOf(await lab.untilLeadingTo(first, "10.0.0.1"));
    await lab.remove();
    const resting = await lab.untilLeadingTo(first);
    expect(frontOf(resting).freedAt).toBeDefined();
    expect(portsOf(resting)).toEqual([port]);
    const second = await lab.create();
    expect(portsOf(await lab.untilLeadingTo(second, "10.0.0.1"))).not.toContain(port);
    expect((await lab.slices()).length).toBe(2);
  });

  it("come free after a while", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController({ flags: ["--tcp-front-quarantine=200ms"] });
    const sandbox = await lab.create();
    await lab.untilLeadingTo(sandbox, "10.0.0.1");
    await lab.remove();
    await vi.waitFor(async () => expect(await lab.slices()).toEqual([]), waiting);
  });

  it("are quarantined even if the record is deleted", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    const before = await lab.untilLeadingTo(sandbox, "10.0.0.1");
    const { namespace, name } = before.metadata;
    await lab.client.delete(endpointSliceType, { namespace, name });
    const after = await vi.waitFor(async () => {
      const found = await lab.slice(sandbox);
      expect(found?.endpoints?.length).toBe(1);
      expect(found?.metadata.uid).not.toBe(before.metadata.uid);
      return found;
    }, waiting);
    expect(portsOf(after)).not.toEqual(portsOf(before));
  });
});

describe("a sandbox that stops to be woken by connections", () => {
  it("gets its headless Service back, and the other one when it begins again", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController();
    const sandbox = await lab.create();
    const ports = portsOf(await lab.untilLeadingTo(sandbox, "10.0.0.1"));
    await lab.change({ autoResume: null });
    await vi.waitFor(async () => expect((await lab.service())?.spec?.clusterIP).toBe("None"), waiting);
    expect(frontOf(await lab.untilLeadingTo(sandbox)).freedAt).toBeDefined();
    await lab.change({ autoResume: {} });
    const again = await lab.untilLeadingTo(sandbox, "10.0.0.1");
    expect(portsOf(again)).toEqual(ports);
    expect(frontOf(again)).not.toHaveProperty("freedAt");
    expect((await lab.service())?.spec?.clusterIP).not.toBe("None");
  });
});

describe("a Service of the sandbox's name with another owner", () => {
  it("is led nowhere by us", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController();
    const sandbox = await lab.create({ service: false });
    await lab.client.create(serviceType, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "default", name: "nova" },
      spec: { selector: { app: "other" }, ports: [{ port: 80 }] },
    });
    await lab.change({ service: true });
    const slice = await vi.waitFor(async () => {
      const found = await lab.slice(sandbox);
      expect(lab.activators.asked.length).toBeGreaterThan(0);
      expect(found).toBeDefined();
      return found;
    }, waiting);
    expect(slice?.endpoints).toEqual([]);
    expect(slice?.metadata.labels).not.toHaveProperty(serviceNameLabel);
  });
});
