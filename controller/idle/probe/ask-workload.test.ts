import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { HttpGetAction } from "../../../api/kinds/core.ts";
import type { SandboxSpec } from "../../../api/kinds/sandbox.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../../test/support/builders/builders.ts";
import { workloadAsker } from "./ask-workload.ts";

const signal = new AbortController().signal;

async function startWorkload(status: number) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers["x-who"]}`);
    response.writeHead(status, { location: "/elsewhere" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    asked,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
    },
  };
}

const ask = (probe: HttpGetAction, podSpec: Partial<SandboxSpec["podTemplate"]["spec"]> = {}) => {
  const sandbox = aSandbox({
    podTemplate: { spec: { containers: [{ name: "main" }], ...podSpec } },
    autoSuspension: { busyProbe: { httpGet: probe } },
  });
  // The controller keeps no more of a Pod's spec.
  const pod = { ...aPodOf(sandbox, {}, { phase: "Running", podIP: "127.0.0.1" }), spec: { containers: [] } };
  return workloadAsker(undefined, systemClock)({ sandbox, pod }, signal);
};

describe("asking a workload whether it is busy", () => {
  it("calls its Pod, whatever host the probe names, and follows no redirect", async () => {
    await using workload = await startWorkload(302);
    const { port } = workload;
    const httpHeaders = [{ name: "X-Who", value: "rouse" }];
    expect(await ask({ port, path: "/busy", host: "192.0.2.1", httpHeaders })).toBe(302);
    expect(workload.asked).toEqual(["/busy rouse"]);
  });

  it("finds a port by its name", async () => {
    await using workload = await startWorkload(200);
    const containers = [{ name: "main", ports: [{ name: "ctl", containerPort: workload.port }] }];
    expect(await ask({ port: "ctl" }, { containers })).toBe(200);
    expect(await ask({ port: "other" }, { containers })).toBeUndefined();
  });

  it("does not reach what is not declared where the Pod has the address of its node", async () => {
    await using workload = await startWorkload(200);
    expect(await ask({ port: workload.port }, { hostNetwork: true })).toBeUndefined();
    const containers = [{ name: "main", ports: [{ containerPort: workload.port }] }];
    expect(await ask({ port: workload.port }, { hostNetwork: true, containers })).toBe(200);
  });

  it("knows nothing if no activator answers", async () => {
    expect(await ask({ port: 1 })).toBeUndefined();
  });
});
