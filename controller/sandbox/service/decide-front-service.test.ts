import { describe, expect, it } from "vitest";
import type { Service } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { adoptableLabel } from "../../../api/rules/keys.ts";
import {
  aSandbox,
  aServiceOf,
  controlledBy,
  someoneElse,
  trackingLabelsOf,
} from "../../../test/support/builders/builders.ts";
import { anObservation } from "../../../test/support/builders/observed.ts";
import { decideService } from "./decide-service.ts";

const ports = [{ containerPort: 5432 }, { containerPort: 53, protocol: "UDP" }];
const podTemplate: SandboxSpec["podTemplate"] = { spec: { containers: [{ name: "main", image: "x", ports }] } };
const sandbox = aSandbox({ service: true, autoResume: {}, podTemplate });
const plain = aSandbox({ service: true, podTemplate });
const tracking = trackingLabelsOf(sandbox);
const tcpPort = { name: "p-5432-tcp", port: 5432, protocol: "TCP", targetPort: 5432 };
const udp = { name: "p-53-udp", port: 53, protocol: "UDP", targetPort: 53 };

const act = (service?: Stored<Service>, of = sandbox, hasActivators = true) =>
  decideService(anObservation({ sandbox: of, service, hasActivators }));

const metadata = { name: "nova", namespace: "lab", labels: tracking, ownerReferences: [controlledBy(sandbox)] };
const front = { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [tcpPort] } };
const headless = { ...front, spec: { clusterIP: "None", selector: tracking, ports: [udp, tcpPort] } };

/** As a server stores it: with an address, and without what was not given. */
function aFront(more: Partial<Service["metadata"]> = {}, spec: Service["spec"] = {}): Stored<Service> {
  const { selector: _, ...rest } = aServiceOf(sandbox).spec ?? {};
  return { ...aServiceOf(sandbox, more), spec: { ...rest, clusterIP: "10.0.0.7", ports: [tcpPort], ...spec } };
}

describe("the Service of a sandbox that connections wake", () => {
  it("has an address, no selector, and the TCP ports alone", () => {
    expect(act()).toEqual([{ do: "createService", service: front }]);
  });

  it("leads to port 8888 where no TCP port is declared", () => {
    const [action] = act(undefined, aSandbox({ service: true, autoSuspension: {} }));
    const port = { name: "p-8888-tcp", port: 8888, protocol: "TCP", targetPort: 8888 };
    expect(action).toMatchObject({ service: { spec: { ports: [port] } } });
  });

  it("is headless where there are no activators", () => {
    expect(act(undefined, sandbox, false)).toEqual([{ do: "createService", service: headless }]);
  });

  it("is headless if the sandbox sets none of the fields", () => {
    expect(act(undefined, plain)).toEqual([{ do: "createService", service: headless }]);
  });

  it("needs no write once it is as desired", () => {
    expect(act(aFront())).toEqual([]);
  });

  it("is repaired in labels and ports, and gets no selector", () => {
    const service = aFront({ labels: {} }, { ports: [udp] });
    const patch = { metadata: { labels: tracking }, spec: { ports: [tcpPort] } };
    expect(act(service)).toEqual([{ do: "patchService", service, patch }]);
  });
});

describe("a Service whose form must change", () => {
  it.each([
    { from: "headless", service: aServiceOf(sandbox), of: sandbox, made: front },
    { from: "one with a selector", service: aFront({}, { selector: tracking }), of: sandbox, made: front },
    { from: "a front", service: aFront(), of: plain, made: headless },
  ])("is deleted and recreated from $from", ({ service, of, made }) => {
    expect(act(service, of)).toEqual([
      { do: "deleteService", service },
      { do: "createService", service: made },
    ]);
  });

  it("waits until the old one is gone", () => {
    expect(act(aServiceOf(sandbox, { deletionTimestamp: "2026-01-01T12:00:00Z" }))).toEqual([]);
  });

  it("is not changed when another owner controls it", () => {
    expect(act(aServiceOf(sandbox, { ownerReferences: [someoneElse] }))).toMatchObject([{ do: "refuse" }]);
  });
});

describe("a Service that was made beforehand for a sandbox that connections wake", () => {
  const unowned = { ownerReferences: [], labels: { [adoptableLabel]: "true" } };

  it("is adopted whole when it has an address and no selector", () => {
    const service = aFront(unowned, { ports: [udp] });
    const labels = { ...unowned.labels, ...tracking };
    const ownerReferences = [controlledBy(sandbox)];
    const taken = { ...service, metadata: { ...service.metadata, labels, ownerReferences }, spec: aFront().spec };
    expect(act(service)).toEqual([{ do: "replaceService", service: taken }]);
  });

  it.each([
    { what: "it is headless", service: aServiceOf(sandbox, unowned) },
    { what: "it is open to machines outside the cluster", service: aFront(unowned, { type: "NodePort" }) },
    { what: "it leads to Pods of its own choice", service: aFront(unowned, { selector: { app: "other" } }) },
  ])("is refused when $what", ({ service }) => {
    expect(act(service)).toMatchObject([{ do: "refuse", why: expect.stringContaining("cannot be adopted") }]);
  });
});
