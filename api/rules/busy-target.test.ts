import { describe, expect, it } from "vitest";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import type { HttpGetAction, PodSpec, PodStatus } from "../kinds/pod.ts";
import { busyTargetOf } from "./busy-target.ts";

const running: PodStatus = { phase: "Running", podIP: "10.0.0.7" };

function targetOf(probe: HttpGetAction, spec: Partial<PodSpec>, more: { template?: PodSpec; status?: PodStatus } = {}) {
  const podSpec = { containers: [{ name: "main" }], ...spec };
  const sandbox = aSandbox({
    autoSuspension: { busyProbe: { httpGet: probe } },
    podTemplate: { spec: more.template ?? podSpec },
  });
  return busyTargetOf(sandbox, { ...aPodOf(sandbox, {}, more.status ?? running), spec: podSpec });
}

const declaring = (port: number, name?: string) => [
  { name: "main", ports: [{ containerPort: port, ...(name !== undefined && { name }) }] },
];

describe("the target of a busy probe", () => {
  it("is the Pod's own address, with the probe's fields except its host", () => {
    const httpHeaders = [{ name: "X-Who", value: "rouse" }];
    expect(targetOf({ port: 80, host: "192.0.2.1", path: "/busy", scheme: "HTTPS", httpHeaders }, {})).toEqual({
      host: "10.0.0.7",
      port: 80,
      path: "/busy",
      scheme: "HTTPS",
      headers: { "X-Who": "rouse" },
    });
  });

  it("is undefined for a number outside of the port range", () => {
    expect(targetOf({ port: 70_000 }, {})).toBeUndefined();
    expect(targetOf({ port: "ctl" }, { containers: declaring(70_000, "ctl") })).toBeUndefined();
  });

  it("is found by the name of a port, in the Pod or, where that is not kept, in its template", () => {
    expect(targetOf({ port: "ctl" }, { containers: declaring(9000, "ctl") })).toMatchObject({ port: 9000, path: "/" });
    const template = { containers: declaring(9000, "ctl") };
    expect(targetOf({ port: "ctl" }, { containers: [] }, { template })).toMatchObject({ port: 9000 });
    expect(targetOf({ port: "other" }, { containers: declaring(9000, "ctl") })).toBeUndefined();
  });

  it("is undefined for a port of the node that only the template declares, not the Pod", () => {
    const hostNetwork = true;
    const containers = declaring(9000);
    expect(targetOf({ port: 10250 }, { hostNetwork, containers })).toBeUndefined();
    const template = { containers: declaring(10250) };
    expect(targetOf({ port: 10250 }, { hostNetwork, containers }, { template })).toBeUndefined();
    expect(targetOf({ port: 9000 }, { hostNetwork, containers }, { template })).toMatchObject({ port: 9000 });
  });

  it("is undefined for a request with more headers or characters than our programs send", () => {
    const headers = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `h${at}`, value: "" }));
    expect(targetOf({ port: 80, httpHeaders: headers(32) }, {})).toMatchObject({ port: 80 });
    expect(targetOf({ port: 80, httpHeaders: headers(33) }, {})).toBeUndefined();
    expect(targetOf({ port: 80, path: `/${"x".repeat(4_096)}` }, {})).toBeUndefined();
  });

  it.each<PodStatus>([
    { podIP: "" },
    { phase: "Succeeded", podIP: "10.0.0.7" },
    { phase: "Failed", podIP: "10.0.0.7" },
  ])("is undefined for a Pod with status %j", (status) => {
    expect(targetOf({ port: 80 }, {}, { status })).toBeUndefined();
  });
});
