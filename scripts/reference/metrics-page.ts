import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import { parseActivatorConfig } from "../../activator/config/config.ts";
import { startActivator } from "../../activator/start.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { reportTo } from "../../lib/process/supervise.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { AgentMetrics } from "../../node/agent/agent-metrics.ts";
import { code, page, table } from "./markdown.ts";

const base = { clock: systemClock, log: silentLogger };
const host = "127.0.0.1";

// Registered by the extensions.
const lastMetric = "rouse_warm_pools_not_progressing";

// Every feature that has metrics of its own is on.
const controllerArgs = [
  "--extensions",
  "--hibernation",
  "--leader-election-namespace=agent-sandbox-system",
  "--metrics-bind-address=0",
  "--health-probe-bind-address=0",
  "--webhook-port=0",
  "--manage-webhook-certs=false",
  "--activator-namespace=agent-sandbox-system",
];
const activatorArgs = [
  `--http-bind-address=${host}:0`,
  `--https-bind-address=${host}:0`,
  `--health-probe-bind-address=${host}:0`,
  `--drain-bind-address=${host}:0`,
  "--metrics-bind-address=",
  "--authz-mode=tokenreview",
  "--authz-access-review",
  "--tcp-front=on",
  "--proxy-protocol-networks=192.0.2.0/24",
];

/** The metrics that the two programs register when they start with all features on. */
async function registered(): Promise<{ readonly controller: Registry; readonly activator: Registry }> {
  await using api = await startMemoryApiServer({ ...base, host, port: 0, kinds: servedKinds() });
  const connection = connectionFor({ server: api.url });
  const registries = { controller: new Registry(), activator: new Registry() };
  using _ofController = reportTo({ ...base, registry: registries.controller });
  using _ofActivator = reportTo({ ...base, registry: registries.activator });
  await using ofController = createKubeClient(connection, { userAgent: "reference", registry: registries.controller });
  await using ofActivator = createKubeClient(connection, { userAgent: "reference", registry: registries.activator });
  await using certificates = await openCertificates();
  const httpsArgs = ["cert", "key"].map(
    (name) => `--tls-${name}-file=${certificates.folder}/tls.${name === "cert" ? "crt" : "key"}`,
  );
  const args = [...controllerArgs, `--webhook-cert-dir=${certificates.folder}`];
  await using controller = await startController(parseControllerConfig(args, {}), {
    ...{ ...base, client: ofController, registry: registries.controller, identity: "reference" },
  });
  await using _activator = await startActivator(parseActivatorConfig([...activatorArgs, ...httpsArgs], {}), {
    ...{ ...base, client: ofActivator, registry: registries.activator },
  });
  await controller.synced;
  // The kinds start after that; the last ones to start are those of the extensions.
  while (!registries.controller.getSingleMetric(lastMetric)) await systemClock.sleep(10);
  return registries;
}

/** A folder with a certificate for the webhook. */
async function openCertificates() {
  const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
  const authority = await makeAuthority("reference", validity);
  const names = { commonName: "reference", dnsNames: ["localhost"], ipAddresses: [host], validity };
  const { certificate, key } = await makeServerCertificate(authority, names);
  const folder = mkdtempSync(join(tmpdir(), "rouse-reference-"));
  writeFileSync(join(folder, "tls.crt"), certificate);
  writeFileSync(join(folder, "tls.key"), key);
  return { folder, [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
}

const types = { counter: Counter, gauge: Gauge, histogram: Histogram, summary: Summary };

/** The type in Prometheus. A metric may be of a subclass. */
function typeOf(metric: object): string {
  const found = Object.entries(types).find(([, type]) => metric instanceof type);
  if (!found) throw new Error(`${metric.constructor.name} is not a type of Prometheus`);
  return found[0];
}

function rowsOf(registry: Registry): readonly (readonly string[])[] {
  const described = registry.getMetricsAsArray().map((metric) => {
    // Properties of a metric in prom-client that its types lack.
    const { name, help, labelNames = [] } = metric as unknown as Described;
    return [code(name), typeOf(metric), labelNames.map(code).join(", "), help];
  });
  return described.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

const heads = ["Metric", "Type", "Labels", "Meaning"];

export async function metricsPage(): Promise<string> {
  const { controller, activator } = await registered();
  const agent = new Registry();
  new AgentMetrics(agent, { frozen: () => 0, used: () => 0 });
  return page("Metrics", [
    "All programs also export the default metrics of prom-client (`process_*`, `nodejs_*`). Names that begin with `agent_sandbox_`, `sandbox_router_`, `controller_runtime_`, `workqueue_`, `rest_client_` and `leader_election_` are those of the ecosystem.",
    "## Controller",
    table(heads, rowsOf(controller)),
    "## Activator",
    table(heads, rowsOf(activator)),
    "## Node agent",
    table(heads, rowsOf(agent)),
  ]);
}
