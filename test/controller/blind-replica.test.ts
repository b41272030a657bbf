import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import { leaseType, podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { openMemoryApi } from "../support/memory-api.ts";
import { waiting } from "../support/waiting.ts";

const lease = { namespace: "default", name: "a3317529.agent-sandbox.x-k8s.io" };
const nova = { namespace: "default", name: "nova" };
const flags = [
  "--enable-webhook=false",
  "--metrics-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  `--leader-election-namespace=${lease.namespace}`,
  "--extensions",
];

/** A client that may not list a kind. */
const withoutKind = (client: KubeClient, plural: string, code = 403): KubeClient => ({
  ...client,
  list: (type, options, signal) =>
    type.plural === plural
      ? Promise.reject(new ApiError(code, { apiVersion: "v1", kind: "Status", code, message: `no list of ${plural}` }))
      : client.list(type, options, signal),
});

const start = (client: KubeClient, identity: string) =>
  startController(parseControllerConfig(flags), {
    client,
    clock: systemClock,
    log: silentLogger,
    registry: new Registry(),
    identity,
  });

it("a replica that may not list a kind leaves the lease to one that may, and is not ready", async () => {
  await using api = await openMemoryApi();
  await using blind = await start(withoutKind(api.client, "networkpolicies"), "blind");
  const page = async () => {
    const response = await fetch(`${blind.healthUrl}/readyz`);
    return { status: response.status, body: await response.text() };
  };
  await vi.waitFor(
    async () => expect(await page()).toEqual({ status: 503, body: "waits for the stores of NetworkPolicy (refused)" }),
    waiting,
  );
  expect((await fetch(`${blind.healthUrl}/healthz`)).status).toBe(200);
  await using healthy = await start(api.client, "healthy");
  await healthy.synced;
  await vi.waitFor(async () => {
    expect((await api.client.get(leaseType, lease)).spec?.holderIdentity).toBe("healthy");
  }, waiting);
  expect(await (await fetch(`${blind.metricsUrl}/metrics`)).text()).toContain(
    'rouse_store_age_seconds{kind="NetworkPolicy"}',
  );
});

it("Sandboxes work while a kind of the extensions is missing", async () => {
  const kinds = servedKinds().filter(({ type }) => type.plural !== sandboxTemplateType.plural);
  await using api = await openMemoryApi({ kinds });
  await using controller = await start(api.client, "alone");
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
  await api.client.create(sandboxType, { metadata: nova, spec: { podTemplate } });
  await vi.waitFor(async () => expect((await api.client.get(podType, nova)).metadata.name).toBe("nova"), waiting);
  expect((await fetch(`${controller.healthUrl}/readyz`)).status).toBe(200);
});
