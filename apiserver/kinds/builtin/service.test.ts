import { describe, expect, it } from "vitest";
import type { Service } from "../../../api/kinds/core.ts";
import { cellsOf, createComplaints, prepared, updateComplaints } from "../../../test/support/admissions.ts";
import { type ClusterIps, loopbackClusterIps } from "./cluster-ips.ts";
import { serviceKind } from "./service.ts";

const kind = serviceKind(loopbackClusterIps());

const service = (spec: Service["spec"] = { ports: [{ port: 80 }] }, name = "web"): Service => ({
  metadata: { name, namespace: "default" },
  spec,
});

describe("defaults", () => {
  it("gives a Service an address, and defaults to its ports", () => {
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
      "an invalid port",
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

it("the columns show address and ports", () => {
  expect(cellsOf(kind, prepared(kind, service({ clusterIP: "None", ports: [{ port: 80 }] })))).toMatchObject({
    Type: "ClusterIP",
    "Cluster-IP": "None",
    "Port(s)": "80/TCP",
    Selector: "<none>",
  });
});

it.each<[string, Service["spec"], string, string]>([
  ["the name that it stands for", { type: "ExternalName", externalName: "db.example.com" }, "<none>", "db.example.com"],
  ["that there is no load balancer", { type: "LoadBalancer", clusterIP: "127.96.0.9" }, "127.96.0.9", "<pending>"],
])("the columns show %s", (_case, spec, clusterIp, externalIp) => {
  expect(cellsOf(kind, prepared(kind, service(spec)))).toMatchObject({
    "Cluster-IP": clusterIp,
    "External-IP": externalIp,
  });
});

describe("addresses", () => {
  const withAddress = (clusterIP: string) => service({ clusterIP, ports: [{ port: 80 }] });
  const ipOf = (service: Service) => service.spec?.clusterIP;
  const take = (addresses: ClusterIps): string => {
    const address = addresses.next();
    addresses.hold(address);
    return address;
  };

  it("are taken by Services that are stored, not by those of a dry run", () => {
    const kind = serviceKind(loopbackClusterIps());
    const tried = [prepared(kind, service()), prepared(kind, service())];
    expect(tried.map((each) => ipOf(each as Service))).toEqual(["127.96.0.1", "127.96.0.1"]);
    kind.committed?.(tried[0], undefined);
    expect(ipOf(prepared(kind, service()) as Service)).toBe("127.96.0.2");
  });

  it("are handed out one after the other, without those that a Service has or had", () => {
    const addresses = loopbackClusterIps();
    for (const address of ["127.96.0.2", "127.96.0.3"]) addresses.hold(address);
    addresses.release("127.96.0.3");
    expect(take(addresses)).toBe("127.96.0.1");
    expect(take(addresses)).toBe("127.96.0.4");
  });

  it("begin anywhere in the range, and go round it", () => {
    expect(loopbackClusterIps(2 ** 20 - 1).next()).toBe("127.111.255.255");
    const addresses = loopbackClusterIps(15, 16);
    const given = Array.from({ length: 15 }, () => take(addresses));
    expect([given[0], given[1], given.at(-1)]).toEqual(["127.96.0.15", "127.96.0.1", "127.96.0.14"]);
    expect(() => addresses.next()).toThrow("range is full");
  });

  it.each<[string, string, string]>([
    ["that another has", "127.96.0.7", "failed to allocate IP 127.96.0.7: provided IP is already allocated"],
    [
      "from elsewhere",
      "127.0.0.1",
      "failed to allocate IP 127.0.0.1: the provided IP (127.0.0.1) is not in the valid range",
    ],
    ["that is none", "web", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  ])("cannot be requested: an address %s", (_case, clusterIP, complaint) => {
    const kind = serviceKind(loopbackClusterIps());
    kind.committed?.(withAddress("127.96.0.7"), undefined);
    expect(createComplaints(kind, withAddress(clusterIP))).toEqual([expect.stringContaining(complaint)]);
  });

  it("can be requested again once their Service is gone", () => {
    const kind = serviceKind(loopbackClusterIps());
    kind.committed?.(withAddress("127.96.0.7"), undefined);
    kind.committed?.(undefined, withAddress("127.96.0.7"));
    expect(createComplaints(kind, withAddress("127.96.0.7"))).toEqual([]);
  });

  it("of Services from an earlier run are not given out again", () => {
    const again = serviceKind(loopbackClusterIps());
    again.committed?.(withAddress("127.96.0.1"), undefined);
    expect(ipOf(prepared<Service>(again, service()))).toBe("127.96.0.2");
  });
});
