import { describe, expect, it } from "vitest";
import type { Container } from "../../../api/kinds/pod.ts";
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

const ports: Container["ports"] = [{ containerPort: 8080, name: "http" }];
const podTemplate: SandboxSpec["podTemplate"] = { spec: { containers: [{ name: "main", image: "x", ports }] } };
const servicePort = { name: "http", port: 8080, protocol: "TCP", targetPort: 8080 };
const wanted = aSandbox({ service: true, podTemplate });
const unsaid = aSandbox({ podTemplate });
const unwanted = aSandbox({ service: false, podTemplate });
const tracking = trackingLabelsOf(wanted);
const adoptable = { ownerReferences: [], labels: { [adoptableLabel]: "true" } };

type Service = ReturnType<typeof aServiceOf>;
const act = (sandbox: typeof wanted, service?: Service) => decideService(anObservation({ sandbox, service }));

describe("a Service that is wanted", () => {
  it("is made headless, for the ports of the containers", () => {
    expect(act(wanted)).toEqual([
      {
        do: "createService",
        service: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "nova", namespace: "lab", labels: tracking, ownerReferences: [controlledBy(wanted)] },
          spec: { clusterIP: "None", selector: tracking, ports: [servicePort] },
        },
      },
    ]);
  });

  it("is repaired when its ports are wrong", () => {
    const service = aServiceOf(wanted, {}, { ports: [{ port: 80 }] });
    expect(act(wanted, service)).toEqual([{ do: "patchService", service, patch: { spec: { ports: [servicePort] } } }]);
  });

  it("is made anew when it was changed to lead out of the cluster", () => {
    const service = aServiceOf(wanted, {}, { type: "ExternalName", externalName: "elsewhere.example" });
    expect(act(wanted, service)).toMatchObject([{ do: "deleteService", service }, { do: "createService" }]);
  });

  it("is left alone when the server has only added to its ports", () => {
    const served = { ...servicePort, nodePort: 30_000, appProtocol: "http" };
    expect(act(wanted, aServiceOf(wanted, {}, { ports: [served] }))).toEqual([]);
  });

  it("is not taken from another owner", () => {
    expect(act(wanted, aServiceOf(wanted, { ownerReferences: [someoneElse] }))).toEqual([
      {
        do: "refuse",
        part: "service",
        why: "Service nova is controlled by ReplicaSet other (uid uid-of-other)",
        untilChanged: false,
      },
    ]);
  });

  it.each([
    { why: "allows it", metadata: adoptable },
    { why: "has the tracking label", metadata: { ownerReferences: [], labels: tracking } },
  ])("is adopted whole when it $why", ({ metadata }) => {
    const service = aServiceOf(wanted, metadata, { selector: { app: "old" }, ports: [{ port: 80 }] });
    const [action] = act(wanted, service);
    expect(action).toMatchObject({
      do: "replaceService",
      service: {
        metadata: { resourceVersion: "1", labels: tracking, ownerReferences: [controlledBy(wanted)] },
        spec: { clusterIP: "None", selector: tracking, ports: [servicePort] },
      },
    });
  });

  it("loses its ports to a Sandbox without any", () => {
    const portless = aSandbox({ service: true });
    const [action] = act(portless, aServiceOf(portless, adoptable, { ports: [{ port: 80 }] }));
    expect(action).toMatchObject({ do: "replaceService", service: { spec: { ports: [] } } });
  });

  it("cannot be one with an address of its own", () => {
    const [action] = act(wanted, aServiceOf(wanted, adoptable, { clusterIP: "10.0.0.5" }));
    expect(action).toMatchObject({ do: "refuse", why: expect.stringContaining("immutable") });
  });

  it.each(["ExternalName", "NodePort", "LoadBalancer"])("cannot be one of type %s", (type) => {
    const service = aServiceOf(wanted, adoptable, { type });
    const { clusterIP: _, ...spec } = service.spec ?? {};
    expect(act(wanted, { ...service, spec })).toMatchObject([{ do: "refuse", why: expect.stringContaining(type) }]);
  });

  it("is not an object that was not given to the Sandbox", () => {
    const [action] = act(wanted, aServiceOf(wanted, { ownerReferences: [], labels: {} }));
    expect(action).toMatchObject({ do: "refuse", part: "service" });
  });
});

describe("an unrequested Service", () => {
  it.each([
    { what: "wanted", sandbox: wanted },
    { what: "there anyway", sandbox: unsaid },
  ])("is repaired in label and selector when it is $what", ({ sandbox }) => {
    const service = aServiceOf(
      sandbox,
      { labels: { team: "red" } },
      { selector: { app: "old" }, ports: [servicePort] },
    );
    const patch = { metadata: { labels: tracking }, spec: { selector: { ...tracking, app: null } } };
    expect(act(sandbox, service)).toEqual([{ do: "patchService", service, patch }]);
  });

  it("keeps its ports", () => {
    expect(act(unsaid, aServiceOf(unsaid, {}, { ports: [{ port: 80 }] }))).toEqual([]);
  });

  it("is not ours when it has no controller", () => {
    expect(act(unsaid, aServiceOf(unsaid, { ownerReferences: [] }))).toEqual([]);
  });

  it("is an error when another owner controls it", () => {
    expect(act(unsaid, aServiceOf(unsaid, { ownerReferences: [someoneElse] }))).toMatchObject([{ do: "refuse" }]);
  });

  it("is not made", () => {
    expect(act(unsaid)).toEqual([]);
  });
});

describe("a Service that is unwanted", () => {
  it("is deleted", () => {
    const service = aServiceOf(unwanted);
    expect(act(unwanted, service)).toEqual([{ do: "deleteService", service }]);
  });

  it.each([
    { whose: "no owner's", ownerReferences: [] },
    { whose: "another owner's", ownerReferences: [someoneElse] },
  ])("is left alone when it is $whose", ({ ownerReferences }) => {
    expect(act(unwanted, aServiceOf(unwanted, { ownerReferences }))).toEqual([]);
  });
});
