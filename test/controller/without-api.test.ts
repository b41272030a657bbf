import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { drainSecretName } from "../../api/between-programs/drain-credentials.ts";
import { leaseType, secretType } from "../../api/kinds/core.ts";
import { leaderLeaseName } from "../../api/rules/names.ts";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { startController } from "../../controller/start.ts";
import { certificateSecretName } from "../../controller/webhook/managed-certificates.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { createLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { ChildProgram } from "../programs/child-program.ts";
import { writeKubeconfig } from "../programs/kubeconfig.ts";
import { openScriptedServer } from "../support/fakes/scripted-api.ts";
import { openWebhookApi } from "../support/labs/webhook-world.ts";
import { waiting } from "../support/waiting.ts";

const namespace = "agent-sandbox-system";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

/** With its webhook, activators and an election: all that the API server has a part in at the start. */
const flagsWith = (health: string) => [
  ...[`--health-probe-bind-address=${health}`, "--metrics-bind-address=0", "--webhook-port=0", "--extensions"],
  ...[`--leader-election-namespace=${namespace}`, `--activator-namespace=${namespace}`],
];

/** Starts a controller for the API server at this address. */
async function startFor(server: string) {
  const stack = new AsyncDisposableStack();
  const client = stack.use(createKubeClient(connectionFor({ server }), { userAgent: "rouse-test" }));
  const health = `127.0.0.1:${await freePort()}`;
  const lines: string[] = [];
  const log = createLogger("test", "warn", { write: (line: string) => void lines.push(line) });
  const parts = { client, clock: systemClock, log, registry: new Registry(), identity: "a" };
  const started = startController(parseControllerConfig(flagsWith(health)), parts);
  started.then(
    (controller) => stack.use(controller),
    () => {},
  );
  return {
    started,
    lines,
    statusOf: async (path: string) => (await fetch(`http://${health}${path}`)).status,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe("a controller whose API server is away when it starts", () => {
  it("is alive and not ready, and begins as usual once the API server is there", async () => {
    const port = await freePort();
    await using away = await startFor(`http://127.0.0.1:${port}`);
    const { lines, statusOf } = away;
    const retries = () =>
      lines.filter((line) => line.includes("the API server cannot be reached, or is overloaded; retrying"));
    await vi.waitFor(() => expect(retries().length).toBeGreaterThanOrEqual(2), waiting);
    expect([await statusOf("/healthz"), await statusOf("/readyz")]).toEqual([200, 503]);

    await using api = await openWebhookApi({ port });
    await away.started;
    await vi.waitFor(async () => expect(await statusOf("/readyz")).toBe(200), waiting);
    for (const name of [certificateSecretName, drainSecretName]) {
      expect((await api.client.get(secretType, { namespace, name })).data).toBeDefined();
    }
    await vi.waitFor(async () => {
      const lease = await api.client.get(leaseType, { namespace, name: leaderLeaseName });
      expect(lease.spec?.holderIdentity).toBe("a");
    }, waiting);
  });

  it("ends at once with what the API server says, if that refuses it", async () => {
    await using server = await openScriptedServer((_, response) => {
      const message = "secrets is forbidden: no right to read it";
      const status = { apiVersion: "v1", kind: "Status", status: "Failure", reason: "Forbidden", code: 403, message };
      response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(status));
    });
    await using refused = await startFor(server.url);
    await expect(refused.started).rejects.toThrow(
      "cannot make the certificates of the webhook: secrets is forbidden: no right to read it",
    );
  });

  it("ends when it is told to, without an error", { timeout: 60_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "rouse-without-api-"));
    stack.defer(() => rm(folder, { recursive: true }));
    const kubeconfig = writeKubeconfig(folder, `http://127.0.0.1:${await freePort()}`);
    const { promise: away, resolve } = Promise.withResolvers<void>();
    const hear = (line: string) => {
      if (line.includes("the API server cannot be reached, or is overloaded; retrying")) resolve();
    };
    const flags = [`--kubeconfig=${kubeconfig}`, ...flagsWith("0")];
    await using program = new ChildProgram("controller/main.ts", flags, hear);
    await Promise.race([away, program.started]);
    await program.stop();
    expect(program.lines.at(-1)).toContain("stopped before the start was complete");
  });
});
