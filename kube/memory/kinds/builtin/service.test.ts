import { describe, expect, it } from "vitest";
import type { Service } from "../../../../api/core.ts";
import { cellsOf, createComplaints, prepared, updateComplaints } from "../../../../test/support/admissions.ts";
import { loopbackClusterIps } from "./cluster-ips.ts";
import { serviceKind } from "./service.ts";

const kind = serviceKind(loopbackClusterIps());

const service = (spec: Service["spec"] = { ports: [{ port: 80 }] }, name = "web"): Service => ({
  metadata: { name, namespace: "default" },
  spec,
});

describe("defaults", () => {
  it("gives a Service an address, and its ports what they lack", () => {
    expect(prepared(kind, service({ ports: [{ port: 80 }] }))).toMatchObject({
      spec: {
        type: "ClusterIP",
        clusterIP: expect.stringMatching(/^127\.96\.0\.\d+$/),
        ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
        sessionAffinity: "None",
      },
    });
  });

  it("leaves a headless Service headless", () => {
    expect(prepared(kind, service({ clusterIP: "None" }))).toMatchObject({
      spec: { clusterIP: "None", clusterIPs: ["None"] },
    });
  });

  it("keeps the address when an update leaves it out", () => {
    expect(updateComplaints(kind, service(), service())).toEqual([]);
  });
});

describe("validation", () => {
  it.each<[string, Service, string]>([
    ["a Service with neither address nor ports", service({}), "spec.ports: Required value"],
    [
      "two ports without names",
      service({ ports: [{ port: 1, name: "a" }, { port: 2 }] }),
      "spec.ports[1].name: Required value",
    ],
    [
      "one port twice",
      service({
        ports: [
          { port: 1, name: "a" },
          { port: 1, name: "b" },
        ],
      }),
      'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
    ],
    [
      "a port that is none",
      service({ ports: [{ port: 0 }] }),
      "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    ],
    [
      "a kind of Service that there is not",
      service({ ports: [{ port: 1 }], type: "X" }),
      'spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
  ])("refuses %s", (_case, object, complaint) => {
    expect(createComplaints(kind, object)).toContain(complaint);
  });

  it("refuses a name that starts with a digit", () => {
    expect(createComplaints(kind, service({ ports: [{ port: 1 }] }, "1a"))[0]).toMatch(
      /^metadata.name: Invalid value: "1a": a DNS-1035 label must consist of/,
    );
  });

  it.each<[string, string, string]>([
    ["another address", "127.96.0.200", 'spec.clusterIPs[0]: Invalid value: ["127.96.0.200"]: may not change once set'],
    ["none instead of one", "None", 'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set'],
  ])("refuses %s later", (_case, clusterIP, complaint) => {
    expect(updateComplaints(kind, service(), service({ clusterIP, ports: [{ port: 80 }] }))).toEqual([complaint]);
  });
});

it("the columns tell address and ports", () => {
  expect(cellsOf(kind, prepared(kind, service({ clusterIP: "None", ports: [{ port: 80 }] })))).toMatchObject({
    Type: "ClusterIP",
    "Cluster-IP": "None",
    "Port(s)": "80/TCP",
    Selector: "<none>",
  });
});

describe("addresses", () => {
  it("are handed out one after the other, without those that a Service has", () => {
    const addresses = loopbackClusterIps();
    addresses.reserve("127.96.0.2");
    expect([addresses.allocate(), addresses.allocate()]).toEqual(["127.96.0.1", "127.96.0.3"]);
  });

  it("carry over from one part of the range to the next, up to the last", () => {
    const addresses = loopbackClusterIps();
    const given = Array.from({ length: 2 ** 20 - 1 }, () => addresses.allocate());
    expect([given[65_535], given.at(-1)]).toEqual(["127.97.0.0", "127.111.255.255"]);
    expect(() => addresses.allocate()).toThrow("every address of 127.96.0.0/12");
  });

  it("of Services from an earlier run are not given out again", () => {
    const again = serviceKind(loopbackClusterIps());
    again.restored?.(service({ clusterIP: "127.96.0.1", ports: [{ port: 80 }] }));
    expect(prepared<Service>(again, service({ ports: [{ port: 80 }] })).spec?.clusterIP).toBe("127.96.0.2");
  });
});
