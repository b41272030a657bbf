import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parseActivatorConfig } from "../../activator/config/config.ts";
import { startActivator } from "../../activator/start.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { startKubelet } from "../../local/kubelet/start-kubelet.ts";

const outageMs = 10_000;
const clients = 100;

/** A sandbox whose program answers with its process id and its number of requests. */
const counting: Sandbox = {
  metadata: { name: "nova", namespace: "default" },
  spec: {
    operatingMode: "Suspended",
    podTemplate: {
      spec: {
        containers: [
          {
            name: "main",
            image: "program",
            command: [
              process.execPath,
              "-e",
              `let asked = 0; require("node:http").createServer((request, response) => response.end(String(++asked))).listen(8888, process.env.POD_IP)`,
            ],
            env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
          },
        ],
      },
    },
  },
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

function ask(port: number): Promise<{ readonly status: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { "x-sandbox-id": "nova", "content-length": "3" };
    const outgoing = request({ host: "127.0.0.1", port, method: "POST", headers, agent: false });
    outgoing.on("error", reject);
    outgoing.on("response", (response: IncomingMessage) => {
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode, body }));
    });
    outgoing.end("hi!");
  });
}

describe("an outage of the API server of ten seconds", () => {
  it("fails none of a hundred held requests, and the sandbox gets each of them once", async () => {
    const directory = mkdtempSync(join(tmpdir(), "rouse-outage-"));
    const port = await freePort();
    const options = { clock: systemClock, log: silentLogger, host: "127.0.0.1", kinds: servedKinds() };
    const startApi = () => startMemoryApiServer({ ...options, port, dataDir: join(directory, "api") });
    const parts = { clock: systemClock, log: silentLogger, registry: new Registry() };

    await using world = new AsyncDisposableStack();
    world.defer(() => rmSync(directory, { recursive: true, force: true }));
    const api = await startApi();
    const connection = connectionFor({ server: api.url });
    const client = world.use(createKubeClient(connection, { userAgent: "rouse-test" }));
    const kubelet = world.use(startKubelet({ ...parts, client, dataDir: directory, environment: process.env }));
    const quiet = [
      "--leader-elect=false",
      "--enable-webhook=false",
      "--metrics-bind-address=0",
      "--health-probe-bind-address=0",
    ];
    const controller = world.use(
      await startController(parseControllerConfig(quiet), { ...parts, client, identity: "test" }),
    );
    const flags = ["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"];
    const open = ["--metrics-bind-address=", "--authz-mode=allow-all", "--allow-loopback-pod-ip", "--access-log=false"];
    const config = parseActivatorConfig([...flags, ...open, "--drain-settle=0s"], {});
    const activator = world.use(await startActivator(config, { ...parts, client }));
    await Promise.all([kubelet.synced, controller.synced]);
    await client.create(sandboxType, counting);
    const asleep = async () => {
      const { status } = await client.get(sandboxType, { namespace: "default", name: "nova" });
      return status?.conditions?.find(({ type }) => type === "Suspended")?.status;
    };
    await expect.poll(asleep, { timeout: 10_000 }).toBe("True");

    await api[Symbol.asyncDispose]();
    const answers = Promise.all(Array.from({ length: clients }, () => ask(activator.proxyPort)));
    await delay(outageMs); // the duration of the tested outage
    world.use(await startApi());

    const seen = await answers;
    expect(seen.map(({ status }) => status)).toEqual(Array.from({ length: clients }, () => 200));
    const counts = seen.map(({ body }) => Number(body)).sort((a, b) => a - b);
    expect(counts).toEqual(Array.from({ length: clients }, (_, at) => at + 1));
  }, 60_000);
});
