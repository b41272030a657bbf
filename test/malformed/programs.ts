import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { drainSecretKeys, drainSecretName } from "../../api/between-programs/drain-credentials.ts";
import { podType, secretType } from "../../api/kinds/core.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { listen } from "../../lib/net/listen.ts";
import { ChildProgram } from "../programs/child-program.ts";
import { writeDrainFiles } from "../programs/drain-files.ts";
import { writeKubeconfig } from "../programs/kubeconfig.ts";
import { version1 } from "../support/builders/proxy-headers.ts";
import { startEchoServer } from "../support/grpc/echo-service.ts";
import { stringValues } from "../support/grpc/web-clients.ts";
import { allocate, freeFrontPort } from "../support/labs/tcp-front-lab.ts";
import { openWebhookApi } from "../support/labs/webhook-world.ts";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";
import { byNameMessages } from "./by-name-messages.ts";
import { grpcWebMessages, http2Messages } from "./http2-messages.ts";
import type { Port } from "./send.ts";

const namespace = "agent-sandbox-system";
const where = { namespace: "default", name: "nova" };
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };

/** Both programs as processes, and a sandbox that answers HTTP with `alive`. */
export async function startPrograms() {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await openWebhookApi());
  // Its own, because a controller without activators removes the EndpointSlice that opens the port of the sandbox.
  const controllerApi = stack.use(await openWebhookApi());
  const directory = mkdtempSync(join(tmpdir(), "rouse-malformed-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const workload = stack.use(createServer((_, response) => response.end("alive")));
  const { port: workloadPort } = await listen(workload, { host: "127.0.0.1", port: 0 });
  const tlsProgram = stack.use(await startTlsProgram());
  const calls = stack.use(await startEchoServer(0, "127.0.0.1", stringValues));
  const uid = await makeSandbox(api.client, [workloadPort, tlsProgram.port, calls.port]);
  const frontPort = await freeFrontPort();
  await allocate(api.client, { name: where.name, uid }, { activatorPort: frontPort, containerPort: workloadPort });
  const drainFiles = await writeDrainFiles({ client: api.client, namespace, directory });
  const { data = {} } = await api.client.get(secretType, { namespace, name: drainSecretName });
  const drainSecret = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();

  const controllerDirectory = join(directory, "controller");
  mkdirSync(controllerDirectory);
  const host = nextLoopbackAddress();
  const proxyIp = nextLoopbackAddress();
  const activatorFlags = [
    ...[`--kubeconfig=${writeKubeconfig(directory, api.url)}`, ...drainFiles],
    ...[...(await certificateFlags(directory)), "--authz-mode=allow-all"],
    ...[`--http-bind-address=${host}:8080`, `--https-bind-address=${host}:8443`, `--metrics-bind-address=${host}:9090`],
    ...[`--health-probe-bind-address=${host}:8081`, `--drain-bind-address=${host}:8446`],
    ...[`--tcp-front-bind-address=${host}`, "--allow-loopback-pod-ip", "--access-log=false"],
    ...["--http2", `--by-name-bind-address=${host}:8444`, `--proxy-protocol-networks=${proxyIp}`],
  ];
  const webhookPort = await freePort();
  const controllerFlags = [
    ...[`--kubeconfig=${writeKubeconfig(controllerDirectory, controllerApi.url)}`, "--extensions"],
    ...[`--leader-election-namespace=${namespace}`, `--webhook-port=${webhookPort}`],
    ...[`--metrics-bind-address=${host}:9443`, "--metrics-secure-serving", "--enable-pprof"],
    ...[`--health-probe-bind-address=${host}:8082`],
  ];
  const activator = stack.use(new ChildProgram("activator/main.ts", activatorFlags));
  const controller = stack.use(new ChildProgram("controller/main.ts", controllerFlags));
  await Promise.all([
    activator.untilServes(`http://${host}:8081/readyz`),
    controller.untilServes(`http://${host}:8082/readyz`),
  ]);
  const controllerPair = {
    cert: drainSecret(drainSecretKeys.controllerCertificate),
    key: drainSecret(drainSecretKeys.controllerKey),
  };
  const own = [...http2Messages, ...grpcWebMessages];
  const named = await byNameMessages(tlsProgram.hostName);
  const proxied = { host, localAddress: proxyIp, header: version1("TCP4 192.0.2.1 10.0.0.1 1 2") };
  const ports = {
    front: { name: "the HTTP front", host, port: 8080, own },
    tlsFront: { name: "the HTTPS front", host, port: 8443, tls: {}, own },
    byName: { name: "the by-name listener", host, port: 8444, own: named },
    tcpFront: { name: "a port of a sandbox", host, port: frontPort },
    proxiedFront: { name: "the HTTP front behind a proxy", ...proxied, port: 8080, own },
    proxiedTlsFront: { name: "the HTTPS front behind a proxy", ...proxied, port: 8443 },
    proxiedTcpFront: { name: "a port of a sandbox behind a proxy", ...proxied, port: frontPort },
    proxiedByName: { name: "the by-name listener behind a proxy", ...proxied, port: 8444, own: named },
    activatorMetrics: { name: "the activator's metrics", host, port: 9090 },
    activatorHealth: { name: "the activator's health", host, port: 8081 },
    drain: { name: "the drain listener", host, port: 8446, tls: controllerPair },
    webhook: { name: "the webhook", host: "127.0.0.1", port: webhookPort, tls: {} },
    controllerMetrics: { name: "the controller's metrics", host, port: 9443, tls: {} },
    controllerHealth: { name: "the controller's health", host, port: 8082 },
  } satisfies Record<string, Port>;
  const started = stack.move();
  return {
    ...{ ports, activator, controller },
    /** The host name of the sandbox. */
    hostName: `${workloadPort}--nova--default.sandbox.localhost`,
    /** The host name that leads to its program with TLS, which answers `alive`. */
    tlsHostName: tlsProgram.hostName,
    /** The port of its program for gRPC, which echoes. */
    grpcPort: calls.port,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function makeSandbox(client: KubeClient, listening: readonly number[]): Promise<string> {
  const ports = listening.map((containerPort) => ({ containerPort }));
  const containers = [{ name: "main", image: "program", ports }];
  const body: Sandbox = {
    ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: where },
    spec: { podTemplate: { spec: { containers } }, operatingMode: "Running", autoResume: { allowFrom: "Any" } },
  };
  const { metadata } = await client.create(sandboxType, body);
  const { uid } = metadata;
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: where.name, uid, controller: true };
  await client.create(podType, {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { ...where, ownerReferences: [owner] } },
    spec: { containers },
  });
  const conditions = [{ type: "Ready", status: "True" }];
  const podIP = "127.0.0.1";
  const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions, startTime: "2026-01-01T00:00:00Z" };
  await client.patch(podType, where, { type: "merge", body: { status } }, { subresource: "status" });
  return uid;
}

async function startTlsProgram() {
  const authority = await makeAuthority("an authority of the sandbox", validity);
  const names = { commonName: "nova", dnsNames: ["*.default.sandbox.localhost"], ipAddresses: [], validity };
  const { certificate: cert, key } = await makeServerCertificate(authority, names);
  const server = createTlsServer({ cert, key }, (socket) => socket.on("error", () => {}).end("alive"));
  server.on("tlsClientError", (_, socket) => socket.destroy());
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  return {
    port,
    hostName: `${port}--nova--default.sandbox.localhost`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function certificateFlags(directory: string): Promise<readonly string[]> {
  const authority = await makeAuthority("an authority", validity);
  const names = { commonName: "here", dnsNames: ["localhost"], ipAddresses: [], validity };
  const { certificate, key } = await makeServerCertificate(authority, names);
  const [certificateFile, keyFile] = [join(directory, "front.crt"), join(directory, "front.key")];
  writeFileSync(certificateFile, certificate);
  writeFileSync(keyFile, key);
  return [`--tls-cert-file=${certificateFile}`, `--tls-key-file=${keyFile}`];
}

async function freePort(): Promise<number> {
  await using server = createTcpServer();
  return (await listen(server, { host: "127.0.0.1", port: 0 })).port;
}
