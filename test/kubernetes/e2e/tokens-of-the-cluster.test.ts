import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { parseActivatorConfig } from "../../../activator/config/config.ts";
import { startActivator } from "../../../activator/start.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { connectionFor, loadConnection } from "../../../kube/client/connection.ts";
import { createKubeClient } from "../../../kube/client/http-client.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** An activator on this machine that reviews tokens with the cluster's API server, with the credentials of `client`. */
async function openDoor(client: KubeClient, ...flags: readonly string[]) {
  const loopback = ["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"];
  const ours = ["--metrics-bind-address=", "--access-log=false", "--drain-settle=0s", "--authz-mode=tokenreview"];
  const config = parseActivatorConfig([...loopback, ...ours, ...flags]);
  const parts = { client, clock: systemClock, log: silentLogger, registry: new Registry() };
  const activator = await startActivator(config, parts);
  await eventually(async () => (await fetch(`${activator.opsUrl}/readyz`)).status === 200, 30_000);
  return {
    /** The status of the response, and its reason. */
    async ask(namespace: string, name: string, token?: string): Promise<string> {
      const headers: Record<string, string> = { "X-Sandbox-Namespace": namespace, "X-Sandbox-ID": name };
      if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
      const response = await fetch(activator.proxyUrl, { headers });
      await response.text();
      return `${response.status} ${response.headers.get("x-rouse-reason") ?? "answered"}`;
    },
    [Symbol.asyncDispose]: () => activator[Symbol.asyncDispose](),
  };
}

it("wakes a sandbox for a ServiceAccount that may connect to it, and for no other", async () => {
  await using test = await openSandboxes(cluster);
  const { namespace } = test;
  await test.apply(sandboxNamed("ours"), sandboxNamed("theirs"));
  await test.untilAsleep("ours", "theirs");
  for (const account of ["friend", "stranger"]) await test.run("create", "serviceaccount", account);
  const connect = ["--verb=get", "--resource=sandboxes.agents.x-k8s.io/connect", "--resource-name=ours"];
  await test.run("create", "role", "connect", ...connect);
  await test.run("create", "rolebinding", "friend", "--role=connect", `--serviceaccount=${namespace}:friend`);
  const tokenOf = async (account: string, ...flags: readonly string[]) =>
    (await test.run("create", "token", account, ...flags)).trim();
  const friend = await tokenOf("friend");

  await using door = await openDoor(cluster.client, "--authz-tokenreview-require-token", "--authz-access-review");
  expect(await door.ask(namespace, "ours")).toBe("401 Unauthenticated");
  expect(await door.ask(namespace, "ours", `${friend}x`)).toBe("401 Unauthenticated");
  expect(await door.ask(namespace, "ours", await tokenOf("friend", "--audience=another"))).toBe("401 Unauthenticated");
  expect(await door.ask(namespace, "ours", await tokenOf("stranger"))).toBe("403 Forbidden");
  expect(await door.ask(namespace, "theirs", friend)).toBe("403 Forbidden");
  expect((await test.sandbox("ours")).spec.operatingMode).toBe("Suspended");
  expect(await door.ask(namespace, "ours", friend)).toBe("200 answered");
  expect((await test.sandbox("theirs")).spec.operatingMode).toBe("Suspended");

  await using other = await openDoor(cluster.client, "--authz-tokenreview-audiences=another");
  expect(await other.ask(namespace, "ours", friend)).toBe("401 Unauthenticated");
  expect(await other.ask(namespace, "ours", await tokenOf("friend", "--audience=another"))).toBe("200 answered");
}, 120_000);

it("rejects all requests while the activator itself may not review tokens", async () => {
  await using test = await openSandboxes(cluster);
  const own = await cluster.kubectl.run(["create", "token", "sandbox-router", `--namespace=${release.namespace}`]);
  const { server, tls } = await loadConnection({ kubeconfig: inject("kubeconfig"), environment: process.env });
  const connection = connectionFor({ server, token: own.trim(), ...(tls.ca && { ca: tls.ca.toString() }) });
  await using client = createKubeClient(connection, { userAgent: "rouse-test" });
  await using door = await openDoor(client);
  expect(await door.ask(test.namespace, "any", own.trim())).toBe("503 AuthorizationUnavailable");
});
